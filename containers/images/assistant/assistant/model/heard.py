"""What has come of an answer: its text, the tools that it calls, and the tokens that it took. Pure rules."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LONGEST_TEXT = 100_000  # characters; more than is ever sent to a chat
LONGEST_ARGUMENTS = 100_000
MOST_CALLS = 16  # of tools at once

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

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.text = text
        said = headers or {}
        self.retry_after = said.get("retry-after", "")
        self.should_retry = said.get("x-should-retry", "")
        self.budget = said.get("x-berth-budget", "")
        """Whose end it was that Berth's gateway spoke of: of the day or of the month."""
        self.resets = said.get("x-berth-resets", "")


class Call(NamedTuple):
    """Of a tool. The arguments are JSON, as the model has written it."""

    id: str
    name: str
    arguments: str

    def read(self) -> dict[str, Any]:
        """Raises ValueError."""
        found = json.loads(self.arguments or "{}")
        if not isinstance(found, dict):
            raise ValueError("the arguments are no object")  # noqa: TRY004 - bad content, as bad JSON is
        return found

    @property
    def object(self) -> dict[str, Any]:
        """The arguments; none where they cannot be read."""
        try:
            return self.read()
        except (ValueError, RecursionError):
            return {}


class Step(NamedTuple):
    """What the model said before it called tools, and what these have answered."""

    text: str
    calls: list[Call]
    results: list[str]


@dataclass
class Heard:
    """What has come of an answer so far, and the tokens that the provider counts; 0 where it does not say."""

    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    is_complete: bool = False
    _calls: dict[int, Call] = field(default_factory=dict)

    @property
    def calls(self) -> list[Call]:
        return [call for _, call in sorted(self._calls.items()) if call.name]

    def add(self, text: object) -> None:
        if isinstance(text, str):
            self.text = (self.text + text)[:LONGEST_TEXT]
        elif isinstance(text, list):  # some send parts
            for part in text:
                self.add(part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None)

    def add_call(self, place: object, *, number: object = None, name: object = None, arguments: object = None) -> None:
        """Adds to the call at this place among others. `number` is what the provider knows it by."""
        if not isinstance(place, int) or (place not in self._calls and len(self._calls) >= MOST_CALLS):
            return
        before = self._calls.get(place, Call(f"call_{place}", "", ""))
        self._calls[place] = Call(
            number if isinstance(number, str) and number else before.id,
            name if isinstance(name, str) and name else before.name,
            (before.arguments + (arguments if isinstance(arguments, str) else ""))[:LONGEST_ARGUMENTS],
        )

    def add_more(self, place: object, arguments: object) -> None:
        """To the arguments of a call that has begun."""
        if place in self._calls:
            self.add_call(place, arguments=arguments)

    def count(self, tokens_in: object, tokens_out: object) -> None:
        self.tokens_in = _whole(tokens_in) or self.tokens_in
        self.tokens_out = _whole(tokens_out) or self.tokens_out


def check(document: dict[str, Any]) -> None:
    """Raises StatusError for what is an error."""
    error = document.get("error")
    if not error:
        return
    said = error if isinstance(error, dict) else {"message": error}
    code, berth = said.get("code"), said.get("berth")
    facts = berth if isinstance(berth, dict) else {}  # in place of the headers of Berth's gateway
    headers = {f"x-berth-{name}": fact for name, fact in facts.items() if isinstance(fact, str)}
    if isinstance(code, int) and 400 <= code < 600:  # OpenRouter
        raise StatusError(code, str(said), headers)
    raise StatusError(STATUSES.get(str(code), STATUSES.get(str(said.get("type")), 500)), str(said), headers)


def objects(found: object) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _whole(tokens: object) -> int:
    return tokens if isinstance(tokens, int) and 0 < tokens < 1 << 40 else 0
