"""Calls a server that the agent's owner has configured, with the credential that Berth keeps for it."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import aiohttp
from aiohttp import web

from gateway.entries.entry import Entry
from gateway.entries.servers import Server
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.forwarding import pass_on, pass_redacted
from gateway.pipes.guard import read_body
from gateway.pipes.piece_filter import BrokenError
from gateway.pipes.upstream import ask
from gateway.rules.allowlist import LONGEST_QUERY, passed_headers
from gateway.rules.paths import ServerPath
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.lookups import PROJECT
from gateway.tunnels.target import is_allowed

METHODS = ("GET", "POST", "DELETE")
LARGEST = 256 * 1024
"""The most bytes of a request's body, which contains the arguments of a tool."""
SILENT_FOR = 120.0
"""Seconds for which a server may send nothing."""

_HEADERS = frozenset({"accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"})


class ServerCalls:
    def __init__(self, client: aiohttp.ClientSession, rates: Rates) -> None:
        """`client` must connect only to addresses of the public internet."""
        self._client = client
        self._rates = rates
        self._open: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)

    def end_of(self, project: str) -> None:
        """Cuts the calls of a project whose servers or credentials have changed."""
        for transport in list(self._open.get(project, ())):
            transport.abort()

    async def call(self, request: web.BaseRequest, entry: Entry, path: ServerPath) -> web.StreamResponse:
        """Raises RefusedError before the answer has begun, and BrokenError after that."""
        server = _find(entry, path)
        if request.method not in METHODS:
            raise RefusedError(Why.NOT_FOUND, "The gateway does not pass this method on.")
        if len(path.query) > LONGEST_QUERY:
            raise RefusedError(Why.BAD, "The query is too long.")
        PROJECT.set(entry.project)
        with self._rates.count(entry), self._counted(entry, request):
            body = await read_body(request, LARGEST) if request.body_exists else None
            self._rates.received(entry, len(body or b""))
            return await self._ask(request, entry, server, path.query, body)

    @contextmanager
    def _counted(self, entry: Entry, request: web.BaseRequest) -> Iterator[None]:
        transport, mine = request.transport, self._open[entry.project]
        if transport is None:
            raise BrokenError
        mine.add(transport)
        try:
            yield
        finally:
            mine.discard(transport)
            if not mine:
                self._open.pop(entry.project, None)

    async def _ask(
        self, request: web.BaseRequest, entry: Entry, server: Server, query: str, body: bytes | None
    ) -> web.StreamResponse:
        url = server.base + (f"?{query}" if query else "")
        headers = {**passed_headers(request.headers.items(), _HEADERS), server.header: server.value}
        charge = partial(self._rates.spent, entry)
        async with ask(
            self._client, request.method, url, headers=headers, body=body, silent_for=SILENT_FOR, charge=charge
        ) as answer:
            if answer.status >= 300:
                return (await pass_redacted(answer, secrets=server.secrets))[1]
            return await pass_on(
                request, answer, secrets=server.secrets, meter=BlindMeter(), pay=partial(self._rates.pay, entry)
            )


def _find(entry: Entry, path: ServerPath) -> Server:
    servers = entry.servers
    server = servers.by_id.get(path.server) if servers else None
    if servers is None or server is None:
        raise RefusedError(Why.NOT_FOUND, "This agent has no such server.")
    if servers.only_hosts and not is_allowed(server.target, entry.hosts):
        raise RefusedError(Why.FORBIDDEN, "This agent may not reach that host.")
    return server
