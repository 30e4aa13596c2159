"""Allowlists for a request's headers and query parameters, and for an answer's headers. Pure.

They keep every credential of the agent out of the request, and leave an agent and an upstream little room to exchange
hidden data.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import parse_qsl, urlencode

REQUEST_HEADERS = frozenset({
    "accept", "content-type", "user-agent", "anthropic-version", "anthropic-beta", "openai-beta", "http-referer",
    "x-title", "idempotency-key",
})  # fmt: skip
ANSWER_HEADERS = frozenset({
    "cache-control", "content-disposition", "content-language", "content-range", "content-type", "date", "etag",
    "last-modified", "mcp-session-id", "openai-model", "openai-processing-ms", "request-id", "retry-after",
    "retry-after-ms", "x-request-id", "x-should-retry",
})  # fmt: skip
ANSWER_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that HTTP forbids in a header, and some upstreams send all the same."""
QUERY = frozenset({"after", "after_id", "before", "before_id", "beta", "limit", "order"})

LONGEST_QUERY = 2048


def request_headers(headers: Iterable[tuple[str, str]], credential: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of a call to a provider, with the real credential."""
    return {**passed_headers(headers, REQUEST_HEADERS), **credential}


def passed_headers(headers: Iterable[tuple[str, str]], known: Collection[str]) -> dict[str, str]:
    """Returns the allowed headers that can be passed on. Asks for an uncompressed answer, so that it can be read."""
    passed = {name.lower(): value for name, value in headers if name.lower() in known}
    plain = {name: value for name, value in passed.items() if value.isascii() and value.isprintable()}
    return {**plain, "accept-encoding": "identity"}


def answer_headers(headers: Iterable[tuple[str, str]], secrets: Collection[str]) -> list[tuple[str, str]]:
    """Returns the allowed headers of an answer, without any that cannot be written or that contains a real credential.

    `secrets` has all ways to write it. The case of letters does not matter, because names of headers lose it.
    """
    plain = [secret.lower() for secret in secrets]
    known = [
        (name, value)
        for name, value in headers
        if (name.lower() in ANSWER_HEADERS or name.lower().startswith(ANSWER_PREFIXES)) and not _CONTROL.search(value)
    ]
    lines = [f"{name}: {value}".lower() for name, value in known]
    return [each for each, line in zip(known, lines, strict=True) if not any(secret in line for secret in plain)]


def provider_query(query: str) -> str:
    """Returns the allowed parameters of the query, which only list and page. Raises ValueError if it is too long."""
    if len(query) > LONGEST_QUERY:
        raise ValueError("The query is too long.")
    pairs = [(name, value) for name, value in parse_qsl(query, max_num_fields=50) if name in QUERY]
    return urlencode(pairs)
