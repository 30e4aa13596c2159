"""Refusals, in the format and the words of the upstream that the request was for. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gateway.entries.entry import Kind


class Why(Enum):
    """The reasons to refuse a request. Each has an HTTP status, an error type of OpenAI and one of Anthropic."""

    CREDENTIAL = (401, "invalid_request_error", "authentication_error")
    LATER = (503, "server_error", "overloaded_error")
    FORBIDDEN = (403, "invalid_request_error", "permission_error")
    NOT_FOUND = (404, "invalid_request_error", "not_found_error")
    BAD = (400, "invalid_request_error", "invalid_request_error")
    TOO_LARGE = (413, "invalid_request_error", "request_too_large")
    RATE = (429, "requests", "rate_limit_error")
    QUOTA = (429, "insufficient_quota", "invalid_request_error")
    FAULT = (500, "server_error", "api_error")
    UPSTREAM = (502, "server_error", "api_error")
    SILENT = (504, "server_error", "api_error")

    @property
    def status(self) -> int:
        return self.value[0]


_CODES = {Why.CREDENTIAL: "invalid_api_key", Why.QUOTA: "insufficient_quota", Why.RATE: "rate_limit_exceeded"}
_QUOTA_STATUS = {Kind.ANTHROPIC: 400, Kind.OPENROUTER: 402}
_QUOTA_WORDS = {
    Kind.ANTHROPIC: "Your credit balance is too low: ",
    Kind.OPENROUTER: "Insufficient credits: ",
}
"""Agents recognise by these that the money is used up, and not that they call too often."""


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """The gateway refuses a request. `words` are for the agent and its owner, and contain nothing secret."""

    def __init__(
        self, why: Why, words: str, *, retry_after: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(words)
        self.why = why
        self.words = words
        self.retry_after = retry_after
        self.headers = dict(headers or {})


def shape_for_provider(error: RefusedError, kind: Kind) -> Refusal:
    """Returns the refusal as a provider of this kind would write it."""
    why, words, status = error.why, error.words, error.why.status
    if why is Why.QUOTA:
        status = _QUOTA_STATUS.get(kind, status)
        words = _QUOTA_WORDS.get(kind, "You exceeded your current quota: ") + words
    document: dict[str, object]
    if kind is Kind.ANTHROPIC:
        document = {"type": "error", "error": {"type": why.value[2], "message": words}}
    elif kind is Kind.OPENROUTER:
        document = {"error": {"message": words, "code": status}}
    else:
        code = _CODES.get(why)
        document = {"error": {"message": words, "type": why.value[1], "param": None, "code": code}}
    return _refusal(status, document, error)


def shape_in_stream(error: RefusedError, kind: Kind, *, is_response: bool) -> bytes:
    """Returns the refusal as the last event of a stream that has begun. The event also contains what the headers of
    the refusal would say.

    `is_response` means a stream of OpenAI's Responses API, whose error events repeat the fields at the top level.
    """
    document = json.loads(shape_for_provider(error, kind).body)
    facts = document["error"]
    if is_response:
        facts_outside = {name: facts.get(name) for name in ("code", "message", "param")}
        document = {"type": "error", "sequence_number": 0} | facts_outside | document
    details = {name.removeprefix("X-Berth-").lower(): value for name, value in error.headers.items()}
    document["error"] = facts | ({"berth": details} if details else {})
    name = b"event: error\n" if "type" in document else b""
    return name + b"data: " + json.dumps(document).encode() + b"\n\n"


def shape_for_telegram(error: RefusedError) -> Refusal:
    document: dict[str, object] = {"ok": False, "error_code": error.why.status, "description": error.words}
    if error.why is Why.RATE and error.retry_after is not None:
        document["parameters"] = {"retry_after": error.retry_after}
    return _refusal(error.why.status, document, error)


def shape_for_tunnel(error: RefusedError) -> Refusal:
    """Returns plain text: the client of a proxy shows the status, and little more."""
    # Any following bytes are meant for the tunnel and must not be read as another request.
    headers = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **error.headers}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return Refusal(error.why.status, error.words.encode() + b"\n", headers)


def _refusal(status: int, document: object, error: RefusedError) -> Refusal:
    headers = {"Content-Type": "application/json", **error.headers}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return Refusal(status, json.dumps(document).encode(), headers)
