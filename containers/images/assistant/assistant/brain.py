"""Asks the model through the SDK of the provider in use. The other SDK is never imported."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from agent_contract import ProblemCode
from assistant.config import Config
from assistant.memory import Message
from berth_agent.outcome import Problem
from berth_agent.providers import Provider, explain_refusal, problem

LONGEST_ANSWER = 4096  # tokens; Anthropic wants a bound
RETRIES = 1

logger = logging.getLogger(__name__)


class RefusedError(Exception):
    """The provider did not answer. `problem` is None where the fault lies in this message alone."""

    def __init__(self, found: Problem | None) -> None:
        super().__init__(found.detail if found else "the message was refused")
        self.problem = found


class Model(Protocol):
    async def answer(self, messages: Sequence[Message]) -> str: ...

    async def close(self) -> None: ...


class OpenAIModel:
    def __init__(self, config: Config) -> None:
        from openai import AsyncOpenAI  # noqa: PLC0415 - half a second, and only if this is the provider

        self._config = config
        self._client = AsyncOpenAI(
            api_key=config.key, base_url=config.api_base, max_retries=RETRIES, timeout=config.answer_seconds
        )

    async def answer(self, messages: Sequence[Message]) -> str:
        prompt: list[Any] = [{"role": "system", "content": self._config.instructions}]
        prompt += [message._asdict() for message in messages]
        answer = await self._client.chat.completions.create(model=self._config.model, messages=prompt)
        return answer.choices[0].message.content or ""

    async def close(self) -> None:
        await self._client.close()


class AnthropicModel:
    def __init__(self, config: Config) -> None:
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - over a second, and only if this is the provider

        self._config = config
        self._client = AsyncAnthropic(
            api_key=config.key,
            auth_token=None,
            base_url=config.api_base.removesuffix("/v1"),  # this SDK adds it
            max_retries=RETRIES,
            timeout=config.answer_seconds,
        )

    async def answer(self, messages: Sequence[Message]) -> str:
        prompt: list[Any] = [message._asdict() for message in messages]
        answer = await self._client.messages.create(
            model=self._config.model, max_tokens=LONGEST_ANSWER, system=self._config.instructions, messages=prompt
        )
        return "".join(block.text for block in answer.content if block.type == "text")

    async def close(self) -> None:
        await self._client.close()


class Brain:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._loading: asyncio.Task[Model] | None = None

    def prepare(self) -> asyncio.Task[Model]:
        """Begins to import the SDK while the agent already polls, so that the first question does not wait for it."""
        if self._loading is None:
            make = AnthropicModel if self._config.provider is Provider.ANTHROPIC else OpenAIModel
            self._loading = asyncio.create_task(asyncio.to_thread(make, self._config))
        return self._loading

    async def answer(self, messages: Sequence[Message]) -> str:
        """The model's answer. Raises RefusedError for everything that goes wrong on the provider's side."""
        model = await asyncio.shield(self.prepare())
        try:
            async with asyncio.timeout(self._config.answer_seconds):
                return await model.answer(messages)
        except Exception as error:  # noqa: BLE001 - SDKs leak more than their own errors, a JSONDecodeError for one
            logger.warning("the provider did not answer: %s", type(error).__name__)
            raise RefusedError(_explain(error)) from None

    async def close(self) -> None:
        if self._loading is not None and self._loading.done() and not self._loading.exception():
            await self._loading.result().close()


def _explain(error: Exception) -> Problem | None:
    """Both SDKs raise errors with `status_code` and `body`. Others mean a lost connection or an unreadable answer."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return problem(ProblemCode.PROVIDER_DOWN)
    return explain_refusal(status, f"{getattr(error, 'code', '')} {getattr(error, 'body', '')} {error}")
