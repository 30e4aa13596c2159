"""An agent's HTTP request to its provider."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.entries.entry import Entry, Kind, Provider
from gateway.proofs import Proof
from gateway.providers.proof import read_proof
from gateway.providers.rewriting import remove_surcharge_headers
from gateway.rules.allowlist import provider_query, request_headers
from gateway.rules.credentials import read_credential
from gateway.rules.paths import Call, read_provider
from gateway.rules.refusals import RefusedError, Why


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request and the agent that sent it."""

    http: web.BaseRequest
    entry: Entry
    provider: Provider
    call: Call
    url: str
    leave: Callable[[], None] = lambda: None
    """Is called when no more data can reach the agent, although the rest of the answer is still read for its cost."""
    find: Callable[[], tuple[Entry, Provider]] | None = None
    """Returns the agent's current entry and provider. Raises RefusedError if there are none."""

    @property
    def describes_key(self) -> bool:
        """Whether the answer describes the real key, so that it may quote a part of it."""
        return self.url.partition("?")[0].endswith("/key")

    def read_proof(self, status: int, body: bytes = b"") -> Proof:
        """Returns what an answer to this request proves. `body` is that of an error."""
        kind = self.provider.kind
        return read_proof(self.call, kind, describes_key=self.describes_key, status=status, body=body)

    def renewed(self) -> "ProviderRequest":
        """Returns the same request with the agent's current entry. Raises RefusedError if it is no longer allowed.

        The key, models and budget may have changed while the request was read or waited.
        """
        entry, provider = self.find() if self.find else (self.entry, self.provider)
        if entry is self.entry:
            return self
        return replace(read_provider_request(self.http, entry, provider), leave=self.leave, find=self.find)


def read_provider_request(request: web.BaseRequest, entry: Entry, provider: Provider) -> ProviderRequest:
    """Returns the request. Raises RefusedError if the path, method or query is not allowed."""
    raw, _, query = request.raw_path.partition("?")
    wanted = read_provider(request.method, raw, provider.kind)
    if wanted is None:
        raise RefusedError(Why.NOT_FOUND, "The gateway does not pass this path and method on.")
    try:
        passed = provider_query(query)
    except ValueError:
        raise RefusedError(Why.BAD, "The query cannot be read.") from None
    call, rest = wanted
    return ProviderRequest(request, entry, provider, call, f"{provider.base}/{rest}" + (f"?{passed}" if passed else ""))


def headers_of(request: ProviderRequest) -> dict[str, str]:
    """Returns the headers with the real key where the provider expects it."""
    found = read_credential(request.http.headers.items())
    came_in = found[1] if found else ""
    by_name = request.provider.kind is Kind.ANTHROPIC or (
        request.provider.kind is Kind.COMPATIBLE and came_in == "x-api-key"
    )
    key = request.provider.key
    credential = {"x-api-key": key} if by_name else {"authorization": f"Bearer {key}"}
    headers = request_headers(request.http.headers.items(), credential)
    if request.entry.budget.is_of_money:
        remove_surcharge_headers(headers)
    if request.call not in (Call.TRANSCRIPTION, Call.LOOK):
        headers["content-type"] = "application/json"  # the gateway has written the body itself
    return headers
