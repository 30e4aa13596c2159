"""Builds the gateway from its parts, and serves while it is open."""

import asyncio
import errno
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial

from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.config import Config
from gateway.control.commands import Commands
from gateway.control.readiness import ReadinessGate
from gateway.control.secured import secured_control
from gateway.control.server import serve_control, speak
from gateway.entries.leases import Leases, tick
from gateway.entries.store import Store, read_keys
from gateway.entries.table import Table
from gateway.pipes.guard import GuardedServer
from gateway.pipes.source_filter import SourceFilter
from gateway.pipes.upstream import open_client
from gateway.providers.call import ProviderCalls
from gateway.rules.callers import Callers, Comparison, GracePeriods
from gateway.rules.cpu_share import CpuShare
from gateway.rules.rates import Rates
from gateway.rules.throttle import Throttle
from gateway.servers.call import ServerCalls
from gateway.servers.resolver import PublicResolver
from gateway.serving.dispatcher import Dispatcher
from gateway.serving.in_flight import InFlight
from gateway.serving.listening import QUEUE
from gateway.serving.revocation import Revocation, watch_leases
from gateway.serving.startup_log import StartupLog
from gateway.serving.state_lock import LOOK_EVERY, state_lock
from gateway.sightings import Sightings
from gateway.telegram.call import TelegramCalls
from gateway.telegram.polls import Polls
from gateway.tunnels.lookups import Lookups
from gateway.tunnels.tunnel import Tunnels

IDLE_FOR = 65.0
"""Seconds for which an agent's connection may have no request, or only part of a request's head."""
LAST_WORDS_WITHIN = 0.25
"""Seconds in which remaining requests may end, once no new ones are accepted."""
MAX_HEADERS = 64
"""Fields of a head and its trailers. The libraries of providers send about twenty."""
ADDRESS_WITHIN = 60.0
"""Seconds for which the gateway waits for its address and port."""
_LATER = (errno.EADDRNOTAVAIL, errno.EADDRINUSE)


@asynccontextmanager
async def open_gateway(
    config: Config, now: Callable[[], float] = time.time, *, listening: socket.socket | None = None
) -> AsyncIterator[int]:
    """Serves while the context is open, and yields the port. `now` is the clock by which days and months end.
    `listening` is a socket that already listens at the port.

    If another gateway uses the same state, waits until that one has ended.

    Raises OSError, and ValueError if the key is invalid.
    """
    keys, leases, startup = read_keys(config.key_file), Leases(), StartupLog()
    gate = ReadinessGate(leases)
    async with _control(config, gate), state_lock(config.state):
        startup.note("to get the lock on its state")
        disk = Disk(config.state / "usage.sqlite3")
        try:
            # In a thread, so that the gateway says that it is not ready while the disk hangs.
            table = await asyncio.to_thread(Table, Store(config.state / "entries", keys), leases)
            startup.note("to read its entries")
            ledger = Ledger(disk, now, has_entries=table.has_records)
            await ledger.open()
            startup.note("to read what was spent")
            async with _started(config, table, ledger, now, gate, listening) as port:
                startup.note("to listen at its address")
                yield port
            ledger.close()
        finally:
            disk.close()


@asynccontextmanager
async def _started(
    config: Config, table: Table, ledger: Ledger, now: Callable[[], float], gate: ReadinessGate,
    listening: socket.socket | None,
) -> AsyncIterator[int]:  # fmt: skip
    lookups = Lookups()
    async with open_client() as client, open_client(PublicResolver(lookups.resolve)) as public_client:
        sightings, polls, loop = await _open_sightings(table, ledger, now), Polls(), asyncio.get_running_loop()
        rates = Rates(loop.time)
        telegram = TelegramCalls(client, polls, sightings, ledger, rates)
        providers = ProviderCalls(client, ledger, sightings, rates)
        tunnels = Tunnels(rates, lookups.resolve)
        throttle = Throttle(config.connections / 2, loop.time)
        servers = ServerCalls(public_client, rates)
        comparison = Comparison(loop.time)
        returning = GracePeriods(config.grace, loop.time, can_restart=True, until=comparison)
        unknown = GracePeriods(config.grace, loop.time, until=comparison if config.control_port else None)
        callers = Callers(table, unknown, returning, sightings.note_astray)
        in_flight = InFlight(table.bindings)
        dispatcher = Dispatcher(callers, telegram, providers, servers, tunnels, throttle, in_flight)
        revocation = Revocation(in_flight, polls, sightings, ledger, servers, tunnels)
        table.tell(revocation.change_entry)
        async with (
            _background_task(watch_leases(table, revocation)),
            _serve(config, dispatcher, polls, listening) as port,
        ):
            gate.open(Commands(table, ledger, sightings, comparison, config.groups))
            yield port
            gate.close()
            await providers.bring_to_end(within=config.last_answers)


async def _open_sightings(table: Table, ledger: Ledger, now: Callable[[], float]) -> Sightings:
    sightings = Sightings(now, tick, table.find_project, ledger.refusals)
    await ledger.refusals.tell(sightings.restore)
    return sightings


@asynccontextmanager
async def _background_task(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def _serve(
    config: Config, dispatcher: Dispatcher, polls: Polls, listening: socket.socket | None
) -> AsyncIterator[int]:
    sources = SourceFilter()
    server = GuardedServer(
        dispatcher,
        most=config.connections,
        throttle=Throttle(config.connections / 2, asyncio.get_running_loop().time),
        block=sources.block,
        share=CpuShare(config.share, asyncio.get_running_loop().time),
        handler_cancellation=True,
        keepalive_timeout=IDLE_FOR,
        access_log=None,
        lingering_time=0,  # `Lingering` reads what is left of a request, within more limits
        auto_decompress=False,  # a compressed request is refused: decompressed, it could have any length
        max_line_size=8190,
        max_field_size=8190,
        max_headers=MAX_HEADERS,
    )
    serving = await _listen(server, config, listening)
    sources.attach_to(serving.sockets[0].fileno())
    try:
        yield serving.sockets[0].getsockname()[1]
    finally:
        serving.close()
        sources.close()
        server.pre_shutdown()  # before polls end, so that no agent polls again on the same connection
        polls.end_all()
        await server.shutdown(LAST_WORDS_WITHIN)


async def _listen(server: GuardedServer, config: Config, listening: socket.socket | None) -> asyncio.Server:
    """Waits for address and port if necessary.

    The address is that of the agents' network, which a new gateway joins only when the old one has left it. An old
    gateway that was killed and restarted may hold the port until it is stopped, although it no longer has the lock.
    """
    loop = asyncio.get_running_loop()
    if listening is not None:
        return await loop.create_server(server, sock=listening, backlog=QUEUE)
    until = loop.time() + ADDRESS_WITHIN
    while True:
        try:
            return await loop.create_server(server, config.host, config.port, backlog=QUEUE, reuse_address=True)
        except OSError as error:
            if error.errno not in _LATER or loop.time() >= until:
                raise
            await asyncio.sleep(LOOK_EVERY)


@asynccontextmanager
async def _control(config: Config, gate: ReadinessGate) -> AsyncIterator[None]:
    server = await serve_control(config.socket, gate)
    try:
        async with secured_control(config, partial(speak, gate)):
            yield
    finally:
        gate.close()
        server.close()
        config.socket.unlink(missing_ok=True)
