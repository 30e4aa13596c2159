"""How the providers are asked and how they answer: OpenAI's chat completions, which most others speak, and Anthropic's
messages. Pure rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.memory import Message
from assistant.parts import Part
from berth_agent.providers import Provider

LONGEST_ANSWER = 4096  # tokens; Anthropic wants a bound, and refuses more than a model can
LONGEST_TEXT = 100_000  # characters; more than is ever sent to a chat

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "insufficient_quota": 429,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}
"""What the errors inside of streams would have been as an HTTP status. Others are the provider's own fault."""


class StatusError(Exception):
    """A provider has refused: with an HTTP status, or with an error inside of its stream."""

    def __init__(self, status: int, text: str, retry_after: str = "", should_retry: str = "") -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.text = text
        self.retry_after = retry_after
        self.should_retry = should_retry


@dataclass
class Heard:
    """What has come of an answer so far, and the tokens that the provider counts; 0 where it does not say."""

    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    is_complete: bool = False

    def add(self, text: object) -> None:
        if isinstance(text, str):
            self.text = (self.text + text)[:LONGEST_TEXT]
        elif isinstance(text, list):  # some send parts
            for part in text:
                self.add(part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None)

    def count(self, tokens_in: object, tokens_out: object) -> None:
        self.tokens_in = _whole(tokens_in) or self.tokens_in
        self.tokens_out = _whole(tokens_out) or self.tokens_out


class Dialect(Protocol):
    path: str

    def headers(self, key: str) -> dict[str, str]: ...

    def body(self, model: str, instructions: str, messages: Sequence[Message], *, stream: bool) -> dict[str, Any]: ...

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        """Adds what an event of a stream says. Raises StatusError for an error in it."""

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        """Adds what an answer that is no stream says."""


class OpenAI:
    path = "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def body(self, model: str, instructions: str, messages: Sequence[Message], *, stream: bool) -> dict[str, Any]:
        prompt = [{"role": "system", "content": instructions}, *(_say(message, self._attach) for message in messages)]
        asked: dict[str, Any] = {"model": model, "messages": prompt}
        return asked | {"stream": True, "stream_options": {"include_usage": True}} if stream else asked

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        _check(event)
        self._count(event, heard)
        for choice in _objects(event.get("choices"))[:1]:
            self._add(choice.get("delta"), heard)
            heard.is_complete = heard.is_complete or bool(choice.get("finish_reason"))

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        _check(document)
        self._count(document, heard)
        choices = _objects(document.get("choices"))
        if not choices:
            raise ValueError("an answer without choices")
        self._add(choices[0].get("message"), heard)
        heard.is_complete = True

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        if part.is_image:
            return {"type": "image_url", "image_url": {"url": part.address}}
        return {"type": "file", "file": {"filename": part.name, "file_data": part.address}}

    @staticmethod
    def _add(said: object, heard: Heard) -> None:
        if isinstance(said, dict):
            heard.add(said.get("content"))
            heard.add(said.get("refusal"))

    @staticmethod
    def _count(document: dict[str, Any], heard: Heard) -> None:
        usage = document.get("usage")
        if isinstance(usage, dict):
            heard.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))


class Anthropic:
    path = "/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, model: str, instructions: str, messages: Sequence[Message], *, stream: bool) -> dict[str, Any]:
        prompt = [_say(message, self._attach) for message in messages]
        asked = {"model": model, "max_tokens": LONGEST_ANSWER, "system": instructions, "messages": prompt}
        return asked | {"stream": True} if stream else asked

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        _check(event)
        kind = event.get("type")
        if kind == "message_start":
            self._count(event.get("message"), heard)
        elif kind == "content_block_delta":
            delta = event.get("delta")
            heard.add(delta.get("text") if isinstance(delta, dict) else None)  # that of thoughts has another name
        elif kind == "message_delta":
            self._count(event, heard)
        elif kind == "message_stop":
            heard.is_complete = True

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        _check(document)
        content = document.get("content")
        if not isinstance(content, list):
            raise ValueError("an answer without content")  # noqa: TRY004 - bad content, as bad JSON is
        heard.add(content)
        self._count(document, heard)
        heard.is_complete = True

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        source = {"type": "base64", "media_type": part.mime, "data": part.slot}
        return {"type": "image" if part.is_image else "document", "source": source}

    @staticmethod
    def _count(document: object, heard: Heard) -> None:
        usage = document.get("usage") if isinstance(document, dict) else None
        if isinstance(usage, dict):
            heard.count(usage.get("input_tokens"), usage.get("output_tokens"))


def dialect_of(provider: Provider) -> Dialect:
    return Anthropic() if provider is Provider.ANTHROPIC else OpenAI()


def _say(message: Message, attach: Callable[[Part], dict[str, Any]]) -> dict[str, Any]:
    """The files stand in front of the text, as providers advise."""
    if not message.parts:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}]
    return {"role": message.role, "content": [*map(attach, message.parts), *text]}


def _check(document: dict[str, Any]) -> None:
    error = document.get("error")
    if not error:
        return
    said = error if isinstance(error, dict) else {"message": error}
    code = said.get("code")
    if isinstance(code, int) and 400 <= code < 600:  # OpenRouter
        raise StatusError(code, str(said))
    raise StatusError(STATUSES.get(str(code), STATUSES.get(str(said.get("type")), 500)), str(said))


def _objects(found: object) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _whole(tokens: object) -> int:
    return tokens if isinstance(tokens, int) and 0 < tokens < 1 << 40 else 0
