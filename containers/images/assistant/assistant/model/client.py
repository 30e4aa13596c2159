"""Asks the model and reads its answer as a stream. Uses httpx, because each provider's SDK takes more memory than
everything else together.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from ssl import SSLContext

import httpx

from agent_contract import ProblemCode
from assistant.config import Config
from assistant.model.completion import Completion, StatusError
from assistant.model.dialects import Prompt, dialect_of
from assistant.model.events import as_object, read_document, read_events
from assistant.model.parts import Body
from assistant.model.refusals import (
    Notice,
    describe,
    explain,
    explain_budget,
    is_too_large,
    is_transient,
    pause_after,
    refuses_streams,
    refuses_tools,
)
from assistant.model.transcribing import UNSUPPORTED_STATUSES, transcribe
from assistant.storage.memory import Message
from assistant.telegram.files import UnreadableError
from assistant.telegram.requests import cancel_cleanly
from assistant.texts import Text
from berth_agent.outcome import Problem

RETRIES = 1
ANSWER_TIME_FACTOR = 5  # a whole answer may take this many times as long as the model may be silent
CONNECT_SECONDS = 10.0
NO_TOOLS_SECONDS = 600.0  # how long a model that refused tools is offered none

logger = logging.getLogger(__name__)


class RefusedError(Exception):
    """The provider gave no answer or only part of one. `problem` is None if only this message is at fault."""

    def __init__(
        self,
        problem: Problem | None,
        completion: Completion,
        *,
        is_too_large: bool = False,
        notice: Notice | None = None,
    ) -> None:
        super().__init__(problem.detail if problem else "the message was refused")
        self.problem = problem
        self.completion = completion
        self.is_too_large = is_too_large
        """The request exceeds the model's context window or a budget. A shorter one may be accepted."""
        self.notice = notice
        """A sentence for the user if the problem's code alone does not explain the refusal."""


class ModelClient:
    def __init__(self, config: Config, tls: SSLContext, now: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._dialect = dialect_of(config.provider)
        self._streams = True
        self._now = now
        self._offers_tools_from = now()
        self._client = httpx.AsyncClient(
            base_url=config.api_base,
            headers={"User-Agent": "berth-agent/1"},
            timeout=httpx.Timeout(config.answer_seconds, connect=CONNECT_SECONDS),
            verify=tls,
        )

    async def answer(
        self, messages: Sequence[Message], on_text: Callable[[str], None] | None = None, *, instructions: str = ""
    ) -> Completion:
        """Returns the model's answer to a request without tools. Raises RefusedError."""
        prompt, completion = Prompt(instructions or self._config.instructions, messages), Completion()
        await self.answer_prompt(prompt, on_text or _ignore_text, completion)
        return completion

    async def answer_prompt(self, prompt: Prompt, on_text: Callable[[str], None], completion: Completion) -> None:
        """Adds the model's answer to `completion`, and calls `on_text` with its whole text so far whenever it grows.

        Raises RefusedError, with the partial answer, for every failure on the provider's side.
        """
        try:
            async with asyncio.timeout(self._config.answer_seconds * ANSWER_TIME_FACTOR):
                await self._ask(prompt, completion, on_text)
        except Exception as error:  # noqa: BLE001 - after any error there is no answer
            logger.warning("the provider did not answer: %s", describe(error))
            notice = explain_budget(error)
            raise RefusedError(explain(error), completion, is_too_large=is_too_large(error), notice=notice) from None

    async def transcribe(self, path: Path, name: str, mime: str) -> Completion:
        """Returns the transcript of a sound. Raises UnreadableError if the provider cannot transcribe, and
        RefusedError for other failures.
        """
        model = self._config.voice_model
        if not model:
            raise UnreadableError(Text.CANNOT_HEAR)
        headers = self._dialect.headers(self._config.key)
        try:
            async with asyncio.timeout(self._config.answer_seconds):
                ask = partial(transcribe, self._client, path, name=name, mime=mime, model=model, headers=headers)
                return await cancel_cleanly(self._client, ask)
        except Exception as error:  # noqa: BLE001 - after any error there is no transcript
            logger.warning("a sound was not transcribed: %s", describe(error))
            found = explain(error)
            is_unknown = found is None or found.code is ProblemCode.PROVIDER_MODEL
            if is_unknown and isinstance(error, StatusError) and error.status in UNSUPPORTED_STATUSES:
                raise UnreadableError(Text.CANNOT_HEAR) from None
            raise RefusedError(found, Completion(), notice=explain_budget(error)) from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, prompt: Prompt, completion: Completion, on_text: Callable[[str], None]) -> None:
        """Asks again without tools if the model refuses them, as small models do. If it answers then, offers it no
        tools for a while.
        """
        if not prompt.steps and self._now() < self._offers_tools_from:
            prompt = replace(prompt, tools=())
        try:
            return await self._ask_with_retries(prompt, completion, on_text)
        except StatusError as error:
            if completion.text or completion.calls or not prompt.tools or prompt.steps or not refuses_tools(error):
                raise
        await self._ask_with_retries(replace(prompt, tools=()), completion, on_text)
        self._offers_tools_from = self._now() + NO_TOOLS_SECONDS
        return None

    async def _ask_with_retries(self, prompt: Prompt, completion: Completion, on_text: Callable[[str], None]) -> None:
        """Tries again if that may help and no part of the answer has arrived yet."""
        tries = RETRIES
        while True:
            document = self._dialect.body(self._config.model, prompt, stream=self._streams)
            body = Body(document, [part for message in prompt.messages for part in message.parts])
            try:
                return await cancel_cleanly(self._client, partial(self._ask_once, body, completion, on_text))
            except (StatusError, httpx.TransportError) as error:
                if completion.text or completion.calls:
                    raise
                if self._streams and refuses_streams(error):
                    self._streams = False  # some organisations are not allowed to stream some models
                    continue
                if not tries or not is_transient(error):
                    raise
                tries -= 1
                await asyncio.sleep(pause_after(error))

    async def _ask_once(self, body: Body, completion: Completion, on_text: Callable[[str], None]) -> None:
        headers = self._dialect.headers(self._config.key)
        headers |= {"Content-Type": "application/json", "Content-Length": str(body.length)}
        async with self._client.stream("POST", self._dialect.path, content=body.read(), headers=headers) as answer:
            pieces = answer.aiter_bytes()
            if not answer.is_success:
                text = (await read_document(pieces)).decode("utf-8", "replace")
                raise StatusError(answer.status_code, text, answer.headers)
            if "event-stream" not in answer.headers.get("content-type", ""):
                self._dialect.add_response(as_object(json.loads(await read_document(pieces))), completion)
                return on_text(completion.text)
            async for event in read_events(pieces):
                before = len(completion.text)
                if event is None:
                    completion.is_complete = True
                    return None
                self._dialect.add_event(event, completion)
                if len(completion.text) > before:
                    on_text(completion.text)
        if not completion.is_complete:
            raise ValueError("the stream has broken off")
        return None


def _ignore_text(_: str) -> None:
    pass
