"""Asks the model through the SDK of the provider in use. The other SDK is never imported."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

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


class Answer(NamedTuple):
    """What the model said, and the tokens that its provider counts; 0 where it does not say."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class Model(Protocol):
    async def answer(self, messages: Sequence[Message]) -> Answer: ...

    async def close(self) -> None: ...


class OpenAIModel:
    def __init__(self, config: Config) -> None:
        from openai import AsyncOpenAI  # noqa: PLC0415 - half a second, and only if this is the provider

        self._config = config
        self._client = AsyncOpenAI(
            api_key=config.key, base_url=config.api_base, max_retries=RETRIES, timeout=config.answer_seconds
        )

    async def answer(self, messages: Sequence[Message]) -> Answer:
        prompt: list[Any] = [{"role": "system", "content": self._config.instructions}]
        prompt += [message._asdict() for message in messages]
        answer = await self._client.chat.completions.create(model=self._config.model, messages=prompt)
        usage = answer.usage
        spent = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        return Answer(answer.choices[0].message.content or "", *map(_count, spent))

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

    async def answer(self, messages: Sequence[Message]) -> Answer:
        prompt: list[Any] = [message._asdict() for message in messages]
        answer = await self._client.messages.create(
            model=self._config.model, max_tokens=LONGEST_ANSWER, system=self._config.instructions, messages=prompt
        )
        text = "".join(block.text for block in answer.content if block.type == "text")
        return Answer(text, _count(answer.usage.input_tokens), _count(answer.usage.output_tokens))

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

    async def answer(self, messages: Sequence[Message]) -> Answer:
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


def _count(tokens: object) -> int:
    """SDKs check nothing of what a provider says."""
    return tokens if isinstance(tokens, int) and 0 < tokens < 1 << 40 else 0


def _explain(error: Exception) -> Problem | None:
    """Both SDKs raise errors with `status_code` and `body`. Others mean a lost connection or an unreadable answer."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return problem(ProblemCode.PROVIDER_DOWN)
    return explain_refusal(status, f"{getattr(error, 'code', '')} {getattr(error, 'body', '')} {error}")
