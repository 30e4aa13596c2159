"""What an agent asks of its provider."""

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from gateway.entries.entry import Entry, Provider
from gateway.rules.paths import Call, read_provider
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.swap import provider_query


@dataclass(frozen=True, slots=True)
class Wish:
    """What an agent asks for, and whose agent it is."""

    request: web.BaseRequest
    entry: Entry
    provider: Provider
    call: Call
    url: str
    leave: Callable[[], None] = lambda: None
    """To be called when nothing more can pass to the agent, though what it has cost is still being read."""


def read_wish(request: web.BaseRequest, entry: Entry, provider: Provider) -> Wish:
    """Raises RefusedError."""
    raw, _, query = request.raw_path.partition("?")
    wanted = read_provider(request.method, raw, provider.kind)
    if wanted is None:
        raise RefusedError(Why.NOT_FOUND, "The gateway does not pass this path and method on.")
    try:
        asked = provider_query(query)
    except ValueError:
        raise RefusedError(Why.BAD, "The query cannot be read.") from None
    call, rest = wanted
    return Wish(request, entry, provider, call, f"{provider.base}/{rest}" + (f"?{asked}" if asked else ""))
