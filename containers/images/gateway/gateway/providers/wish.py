"""An agent's request to its provider."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.entries.entry import Entry, Kind, Provider
from gateway.providers.writing import keep_headers_to_price
from gateway.rules.credentials import read_credential
from gateway.rules.paths import Call, read_provider
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.swap import provider_query, request_headers


@dataclass(frozen=True, slots=True)
class Wish:
    """A request and the agent that sent it."""

    request: web.BaseRequest
    entry: Entry
    provider: Provider
    call: Call
    url: str
    leave: Callable[[], None] = lambda: None
    """To be called when nothing more can pass to the agent, though what it has cost is still being read."""
    find: Callable[[], tuple[Entry, Provider]] | None = None
    """Returns what counts now for the agent that asks. Raises RefusedError if nothing does."""

    def renewed(self) -> "Wish":
        """Returns the same by the entry that counts now: its key, models and budget may have changed while the request
        was read, or waited. Raises RefusedError."""
        entry, provider = self.find() if self.find else (self.entry, self.provider)
        if entry is self.entry:
            return self
        return replace(read_wish(self.request, entry, provider), leave=self.leave, find=self.find)


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


def headers_of(wish: Wish) -> dict[str, str]:
    """Returns the headers with the real key where the provider expects it."""
    found = read_credential(wish.request.headers.items())
    came_in = found[1] if found else ""
    by_name = wish.provider.kind is Kind.ANTHROPIC or (wish.provider.kind is Kind.COMPATIBLE and came_in == "x-api-key")
    key = wish.provider.key
    credential = {"x-api-key": key} if by_name else {"authorization": f"Bearer {key}"}
    headers = request_headers(wish.request.headers.items(), credential)
    if wish.entry.budget.is_of_money:
        keep_headers_to_price(headers)
    if wish.call not in (Call.TRANSCRIPTION, Call.LOOK):
        headers["content-type"] = "application/json"  # which the gateway wrote itself
    return headers
