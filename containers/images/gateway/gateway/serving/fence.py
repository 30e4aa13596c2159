"""Ends polls, calls and tunnels when the entry that allowed them has changed or is no longer valid."""

import asyncio

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry
from gateway.entries.table import Table
from gateway.servers.call import ServerCalls
from gateway.serving.inside import Inside
from gateway.telegram.polls import Polls
from gateway.truth import Truth
from gateway.tunnels.tunnel import Tunnels

LOOK_EVERY = 0.25
"""Seconds between checks for ended leases. One long sleep would end late after the machine was suspended: the event
loop's clock stops then, but the clock of leases does not."""
POLL_WITHIN = 0.5
"""Seconds in which a poll may end with an empty result, before all connections of a project without a lease are cut."""


class Fence:
    def __init__(
        self, inside: Inside, polls: Polls, truth: Truth, ledger: Ledger, servers: ServerCalls, tunnels: Tunnels
    ) -> None:
        self._inside = inside
        self._polls = polls
        self._truth = truth
        self._ledger = ledger
        self._servers = servers
        self._tunnels = tunnels

    async def change(self, old: Entry, new: Entry | None) -> None:
        """Ends everything that `old` allowed and `new` does not. None means that the project has no valid entry."""
        self._ledger.change(old.project, new)
        if new is None or new.bot != old.bot or new.address != old.address:
            self._polls.end_of(old.project)
        if new is None or new.servers != old.servers or new.hosts != old.hosts:
            self._servers.end_of(old.project)
        if new is None or new.hosts != old.hosts:
            self._tunnels.end_of(old.project)
        if new is None:
            self._truth.forget(old.project)
        if new is None or new.address != old.address:
            await self._inside.fence(old.project)

    async def silence(self, projects: list[str]) -> None:
        """Ends everything of projects whose leases are over. What the gateway has seen of them is kept."""
        for project in projects:
            self._polls.end_of(project)
            self._servers.end_of(project)
            self._tunnels.end_of(project)
        await asyncio.gather(*map(self._cut, projects))

    async def _cut(self, project: str) -> None:
        await self._polls.wait_for_end_of(project, within=POLL_WITHIN)
        await self._inside.fence(project)


async def watch_leases(table: Table, fence: Fence) -> None:
    """Runs until it is cancelled."""
    leases, silencing = table.leases, set[asyncio.Task[None]]()
    while True:
        left = leases.next_end()
        if left is None:
            leases.granted.clear()
            await leases.granted.wait()
        else:
            await asyncio.sleep(min(left, LOOK_EVERY))
        if ended := leases.take_ended():
            # In a task of its own, because other leases may end before this is done.
            task = asyncio.create_task(fence.silence(ended))
            silencing.add(task)
            task.add_done_callback(silencing.discard)
