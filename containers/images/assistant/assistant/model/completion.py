"""The model's answer as far as it has arrived: its text, its tool calls, and the tokens it used. Pure functions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LONGEST_TEXT = 100_000  # characters; more than is ever sent to a chat
LONGEST_ARGUMENTS = 100_000
MOST_CALLS = 16  # tool calls in one answer

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
"""The HTTP status that corresponds to each error inside a stream. Other errors count as the provider's fault (500)."""


class StatusError(Exception):
    """The provider refused, with an HTTP status or with an error inside its stream."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.text = text
        details = headers or {}
        self.retry_after = details.get("retry-after", "")
        self.should_retry = details.get("x-should-retry", "")
        self.budget = details.get("x-berth-budget", "")
        """The budget that Berth's gateway reports as used up: `day` or `month`; empty if it reports none."""
        self.resets = details.get("x-berth-resets", "")


class ToolCall(NamedTuple):
    """One tool call. `arguments` is the JSON exactly as the model wrote it."""

    id: str
    name: str
    arguments: str

    def read(self) -> dict[str, Any]:
        """Returns the parsed arguments. Raises ValueError if they are not a JSON object."""
        found = json.loads(self.arguments or "{}")
        if not isinstance(found, dict):
            raise ValueError("the arguments are no object")  # noqa: TRY004 - bad content, like bad JSON
        return found

    @property
    def object(self) -> dict[str, Any]:
        """The parsed arguments; empty if they cannot be parsed."""
        try:
            return self.read()
        except (ValueError, RecursionError):
            return {}


class Step(NamedTuple):
    """One round of tool use: the model's text, its tool calls, and their results in the same order."""

    text: str
    calls: list[ToolCall]
    results: list[str]


@dataclass
class Completion:
    """An answer so far, with the token counts that the provider reports; 0 if it reports none."""

    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    is_complete: bool = False
    _calls: dict[int, ToolCall] = field(default_factory=dict)

    @property
    def calls(self) -> list[ToolCall]:
        return [call for _, call in sorted(self._calls.items()) if call.name]

    def add(self, text: object) -> None:
        if isinstance(text, str):
            self.text = (self.text + text)[:LONGEST_TEXT]
        elif isinstance(text, list):  # some providers send a list of parts
            for part in text:
                self.add(part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None)

    def add_call(self, index: object, *, call_id: object = None, name: object = None, arguments: object = None) -> None:
        """Adds to the call at this index. `call_id` is the provider's own id of the call."""
        if not isinstance(index, int) or (index not in self._calls and len(self._calls) >= MOST_CALLS):
            return
        before = self._calls.get(index, ToolCall(f"call_{index}", "", ""))
        self._calls[index] = ToolCall(
            call_id if isinstance(call_id, str) and call_id else before.id,
            name if isinstance(name, str) and name else before.name,
            (before.arguments + (arguments if isinstance(arguments, str) else ""))[:LONGEST_ARGUMENTS],
        )

    def extend_call(self, index: object, arguments: object) -> None:
        """Appends to the arguments of a call that has already started."""
        if index in self._calls:
            self.add_call(index, arguments=arguments)

    def count(self, tokens_in: object, tokens_out: object) -> None:
        self.tokens_in = _whole(tokens_in) or self.tokens_in
        self.tokens_out = _whole(tokens_out) or self.tokens_out


def raise_for_error(document: dict[str, Any]) -> None:
    """Raises StatusError if the document reports an error."""
    error = document.get("error")
    if not error:
        return
    details = error if isinstance(error, dict) else {"message": error}
    code, berth = details.get("code"), details.get("berth")
    gateway_facts = berth if isinstance(berth, dict) else {}  # the gateway cannot set headers inside a stream
    headers = {f"x-berth-{name}": fact for name, fact in gateway_facts.items() if isinstance(fact, str)}
    if isinstance(code, int) and 400 <= code < 600:  # OpenRouter
        raise StatusError(code, str(details), headers)
    raise StatusError(STATUSES.get(str(code), STATUSES.get(str(details.get("type")), 500)), str(details), headers)


def objects(found: object) -> list[dict[str, Any]]:
    """Returns the JSON objects of a list, and nothing for any other value."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _whole(tokens: object) -> int:
    return tokens if isinstance(tokens, int) and 0 < tokens < 1 << 40 else 0
