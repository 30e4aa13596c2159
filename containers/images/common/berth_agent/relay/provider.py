"""Passes the child's calls on to the provider with the real API key, and reports the provider's refusals."""

import json
import re
from contextlib import nullcontext
from http.client import HTTPException
from threading import Event, Thread
from typing import IO

from agent_contract import ProblemCode
from berth_agent.outcome import Problem
from berth_agent.preflight import check_provider
from berth_agent.providers import Provider, explain_refusal, problem
from berth_agent.relay.activity import Activity
from berth_agent.relay.config import Config
from berth_agent.relay.exchange import Exchange
from berth_agent.relay.upstream import ask, passed_on
from berth_agent.status import Status

SILENCE = 300.0  # seconds for which a model may think without sending anything
LONGEST_ERROR = 256 * 1024
CHATS = ("chat/completions", "messages", "responses")
RELAXED = 10  # without a problem, the provider is checked this many times less often
ONLY_CHAT_SHOWS = (ProblemCode.PROVIDER_CREDIT, ProblemCode.PROVIDER_MODEL)
"""Free requests succeed despite these problems. Only a call to the model shows whether they are over."""


class ProviderEndpoint:
    def __init__(self, config: Config, status: Status, activity: Activity | None = None) -> None:
        self._config = config
        self._activity = activity or Activity()
        self._status = status

    @property
    def path(self) -> str:
        """The relay's path for the provider. Its last part tells programs that know both protocols which one to use."""
        return f"/{name_of(self._config.provider)}"

    def serve(self, exchange: Exchange) -> None:
        found = re.fullmatch(r"/[a-z]+/(?:v1/)?([^?]+)(\?.*)?", exchange.path)
        if found is None:
            exchange.answer_json(404, {"error": {"message": "The relay has no such path."}})
            return
        body, headers = exchange.body()
        headers = passed_on(exchange.headers) | headers | self._credentials()
        url = f"{self._config.api_base}/{found[1]}{found[2] or ''}"
        is_chat = found[1] in CHATS
        with self._activity.in_progress() if is_chat else nullcontext():
            self._pass_on(exchange, url, headers, body, is_chat=is_chat)

    def _pass_on(
        self, exchange: Exchange, url: str, headers: dict[str, str], body: bytes | IO[bytes] | None, *, is_chat: bool
    ) -> None:
        try:
            with ask(exchange.method, url, headers, body, silence=SILENCE) as answer:
                if answer.status < 400:
                    self._note(None, is_chat=is_chat)
                    exchange.pass_on(answer)
                    return
                content = answer.read(LONGEST_ERROR)
                self._note(explain_refusal(answer.status, content.decode("utf-8", "replace")), is_chat=is_chat)
                exchange.pass_on(answer, content)
        except (OSError, HTTPException):
            self._note(problem(ProblemCode.PROVIDER_DOWN), is_chat=is_chat)
            exchange.fail(502, {"error": {"message": "The provider cannot be reached."}})

    def watch(self, stop: Event) -> None:
        """Checks the provider at intervals, so that the status changes even if nobody writes to the agent."""
        Thread(target=self._watch, args=(stop,), daemon=True, name="provider").start()

    def _watch(self, stop: Event) -> None:
        turn = 0
        while not stop.wait(self._config.watch_seconds):
            turn += 1
            if self._status.provider is not None or turn % RELAXED == 0:
                self._status.note_provider(self._find_problem(self._status.provider))

    def _find_problem(self, known: Problem | None) -> Problem | None:
        config = self._config
        found = check_provider(config.provider, config.api_base, config.key, config.model)
        if found is not None or known is None or known.code not in ONLY_CHAT_SHOWS:
            return found
        return self._ask_model(known)

    def _ask_model(self, known: Problem) -> Problem | None:
        is_anthropic = self._config.provider is Provider.ANTHROPIC
        question = {"model": self._config.model, "messages": [{"role": "user", "content": "Reply with OK."}]}
        body = json.dumps(question | ({"max_tokens": 16} if is_anthropic else {})).encode()
        url = f"{self._config.api_base}/{'messages' if is_anthropic else 'chat/completions'}"
        headers = self._credentials() | {"Content-Type": "application/json"}
        try:
            with ask("POST", url, headers, body, silence=60) as answer:
                if answer.status < 400:
                    return None
                return explain_refusal(answer.status, answer.read(LONGEST_ERROR).decode("utf-8", "replace")) or known
        except (OSError, HTTPException):
            return problem(ProblemCode.PROVIDER_DOWN)

    def _note(self, found: Problem | None, *, is_chat: bool) -> None:
        """Reports only the results of chats. Programs also try other paths, whose errors say nothing."""
        if is_chat:
            self._status.note_provider(found)

    def _credentials(self) -> dict[str, str]:
        if self._config.provider is Provider.ANTHROPIC:
            return {"x-api-key": self._config.key, "anthropic-version": "2023-06-01"}
        return {"Authorization": f"Bearer {self._config.key}"}


def name_of(provider: Provider) -> str:
    return "anthropic" if provider is Provider.ANTHROPIC else "openai"
