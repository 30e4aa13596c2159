"""The rooms, put together."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.config import Config
from gateway.control.commands import Commands
from gateway.control.server import serve_control
from gateway.entries.entry import Entry
from gateway.entries.store import Store, read_keys
from gateway.entries.table import Table
from gateway.pipes.guard import GuardedServer
from gateway.pipes.upstream import open_client
from gateway.providers.call import ProviderCalls
from gateway.rules.pace import Pace
from gateway.rules.rates import Rates
from gateway.rules.who import Grace
from gateway.serving.door import Door
from gateway.telegram.call import TelegramCalls
from gateway.telegram.polls import Polls
from gateway.truth import Truth
from gateway.tunnels.tunnel import Tunnels

IDLE_FOR = 65.0
"""Seconds that an agent's connection may be without a request, or with half of one's head."""
LAST_ANSWERS_WITHIN = 2.0
"""Seconds that answers may take to come to their end when the gateway is stopped."""


@asynccontextmanager
async def open_gateway(config: Config, now: Callable[[], float] = time.time) -> AsyncIterator[int]:
    """Serves while the context is open, and yields the port. `now` is the clock by which days and months end.

    Raises OSError, and ValueError for a key that is none.
    """
    store = Store(config.state / "entries", read_keys(config.key_file))
    disk = Disk(config.state / "usage.sqlite3")
    try:
        ledger = Ledger(disk, now)
        await ledger.open()
        async with open_client() as client:
            truth, polls, loop = Truth(now), Polls(), asyncio.get_running_loop()
            table = Table(store)
            telegram = TelegramCalls(client, polls, truth, ledger)
            providers = ProviderCalls(client, ledger, truth, Rates(loop.time))
            tunnels = Tunnels()
            pace = Pace(config.connections / 2, loop.time)
            door = Door(table, Grace(config.grace, loop.time), telegram, providers, tunnels, pace)
            table.tell(Fence(door, polls, truth, tunnels).change)
            async with _serve(config, door) as port, _control(config, Commands(table, ledger, truth)):
                yield port
                polls.end_all()
        ledger.close()
    finally:
        disk.close()


class Fence:
    """Ends what is in flight when what it was allowed by has changed."""

    def __init__(self, door: Door, polls: Polls, truth: Truth, tunnels: Tunnels) -> None:
        self._door = door
        self._polls = polls
        self._truth = truth
        self._tunnels = tunnels

    async def change(self, old: Entry, new: Entry | None) -> None:
        if new is None or new.bot != old.bot or new.address != old.address:
            self._polls.end_of(old.project)
        if new is None or new.hosts != old.hosts:
            self._tunnels.end_of(old.project)
        if new is None:
            self._truth.forget(old.project)
        if new is None or new.address != old.address:
            await self._door.fence(old.project)


@asynccontextmanager
async def _serve(config: Config, door: Door) -> AsyncIterator[int]:
    server = GuardedServer(
        door,
        most=config.connections,
        handler_cancellation=True,
        keepalive_timeout=IDLE_FOR,
        access_log=None,
        lingering_time=0,
        auto_decompress=False,  # a compressed request is refused, and what it holds could have any length
        max_line_size=8190,
        max_field_size=8190,
    )
    listening = await asyncio.get_running_loop().create_server(
        server, config.host, config.port, backlog=1024, reuse_address=True
    )
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        server.pre_shutdown()
        await server.shutdown(LAST_ANSWERS_WITHIN)


@asynccontextmanager
async def _control(config: Config, commands: Commands) -> AsyncIterator[None]:
    server = await serve_control(config.socket, commands)
    try:
        yield
    finally:
        server.close()
        config.socket.unlink(missing_ok=True)
