"""Asks the model, and hears its answer piece by piece. Of providers' SDKs each took more memory than all the rest."""

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
from assistant.model.dialects import Prompt, dialect_of
from assistant.model.events import as_object, read_document, read_events
from assistant.model.heard import Heard, StatusError
from assistant.model.parts import Body
from assistant.model.refusals import (
    Words,
    describe,
    explain,
    explain_budget,
    is_too_much,
    may_pass,
    pause_after,
    refuses_streams,
    refuses_tools,
)
from assistant.model.transcribing import CANNOT, transcribe
from assistant.remembering.memory import Message
from assistant.telegram.files import UnreadableError
from assistant.telegram.requests import keep_whole
from assistant.texts import Text
from berth_agent.outcome import Problem

RETRIES = 1
MOST_SPANS = 5  # times as long as the model may think, for all of an answer
CONNECT_SECONDS = 10.0
WITHOUT_TOOLS = 600.0  # seconds for which a model that has refused tools is offered none

logger = logging.getLogger(__name__)


class RefusedError(Exception):
    """The provider did not answer, or not to the end. `problem` is None where the fault lies in this message alone."""

    def __init__(
        self, found: Problem | None, heard: Heard, *, is_too_much: bool = False, words: Words | None = None
    ) -> None:
        super().__init__(found.detail if found else "the message was refused")
        self.problem = found
        self.heard = heard
        self.is_too_much = is_too_much
        """For the model's window, or for a budget: less of it may be taken."""
        self.words = words
        """What is said of it, where the problem alone does not tell."""


class Brain:
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
        self, messages: Sequence[Message], hear: Callable[[str], None] | None = None, *, instructions: str = ""
    ) -> Heard:
        """The model's answer, in words alone. Raises RefusedError."""
        prompt, heard = Prompt(instructions or self._config.instructions, messages), Heard()
        await self.answer_prompt(prompt, hear or _ignore, heard)
        return heard

    async def answer_prompt(self, prompt: Prompt, hear: Callable[[str], None], heard: Heard) -> None:
        """Adds the model's answer to `heard`, and calls `hear` with all of its text each time that there is more.

        Raises RefusedError, with what had come, for everything that goes wrong on the provider's side.
        """
        try:
            async with asyncio.timeout(self._config.answer_seconds * MOST_SPANS):
                await self._ask(prompt, heard, hear)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is no answer
            logger.warning("the provider did not answer: %s", describe(error))
            words = explain_budget(error)
            raise RefusedError(explain(error), heard, is_too_much=is_too_much(error), words=words) from None

    async def transcribe(self, path: Path, name: str, mime: str) -> Heard:
        """What a sound says. Raises UnreadableError where the provider cannot tell, else RefusedError."""
        model = self._config.voice_model
        if not model:
            raise UnreadableError(Text.CANNOT_HEAR)
        headers = self._dialect.headers(self._config.key)
        try:
            async with asyncio.timeout(self._config.answer_seconds):
                ask = partial(transcribe, self._client, path, name=name, mime=mime, model=model, headers=headers)
                return await keep_whole(self._client, ask)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing was heard
            logger.warning("a sound was not transcribed: %s", describe(error))
            found = explain(error)
            is_unknown = found is None or found.code is ProblemCode.PROVIDER_MODEL
            if is_unknown and isinstance(error, StatusError) and error.status in CANNOT:
                raise UnreadableError(Text.CANNOT_HEAR) from None
            raise RefusedError(found, Heard(), words=explain_budget(error)) from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, prompt: Prompt, heard: Heard, hear: Callable[[str], None]) -> None:
        """Without tools where the model refuses them, as small ones do: for a while, if it answers then."""
        if not prompt.steps and self._now() < self._offers_tools_from:
            prompt = replace(prompt, tools=())
        try:
            return await self._ask_again(prompt, heard, hear)
        except StatusError as error:
            if heard.text or heard.calls or not prompt.tools or prompt.steps or not refuses_tools(error):
                raise
        await self._ask_again(replace(prompt, tools=()), heard, hear)
        self._offers_tools_from = self._now() + WITHOUT_TOOLS
        return None

    async def _ask_again(self, prompt: Prompt, heard: Heard, hear: Callable[[str], None]) -> None:
        """Tries again where that may help and nothing was heard yet."""
        tries = RETRIES
        while True:
            document = self._dialect.body(self._config.model, prompt, stream=self._streams)
            body = Body(document, [part for message in prompt.messages for part in message.parts])
            try:
                return await keep_whole(self._client, partial(self._ask_once, body, heard, hear))
            except (StatusError, httpx.TransportError) as error:
                if heard.text or heard.calls:
                    raise
                if self._streams and refuses_streams(error):
                    self._streams = False  # some organisations may not stream some models
                    continue
                if not tries or not may_pass(error):
                    raise
                tries -= 1
                await asyncio.sleep(pause_after(error))

    async def _ask_once(self, body: Body, heard: Heard, hear: Callable[[str], None]) -> None:
        key = self._dialect.headers(self._config.key)  # which need not be fit for a header
        headers = key | {"Content-Type": "application/json", "Content-Length": str(body.length)}
        async with self._client.stream("POST", self._dialect.path, content=body.read(), headers=headers) as answer:
            pieces = answer.aiter_bytes()
            if not answer.is_success:
                text = (await read_document(pieces)).decode("utf-8", "replace")
                raise StatusError(answer.status_code, text, answer.headers)
            if "event-stream" not in answer.headers.get("content-type", ""):
                self._dialect.hear_whole(as_object(json.loads(await read_document(pieces))), heard)
                return hear(heard.text)
            async for event in read_events(pieces):
                before = len(heard.text)
                if event is None:
                    heard.is_complete = True
                    return None
                self._dialect.hear(event, heard)
                if len(heard.text) > before:
                    hear(heard.text)
        if not heard.is_complete:
            raise ValueError("the stream has broken off")
        return None


def _ignore(_: str) -> None:
    pass
