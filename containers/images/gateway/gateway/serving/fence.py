"""Ends what is in flight when what it was allowed by has changed, or counts no more."""

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
"""Seconds: the loop's clock stands still while the machine sleeps, and that of leases does not."""
POLL_WITHIN = 0.5
"""Seconds for a poll to end with an empty result, before everything of a project is cut whose lease is over."""


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
        """Of projects whose leases are over. What was seen of them stays."""
        for project in projects:
            self._polls.end_of(project)
            self._servers.end_of(project)
            self._tunnels.end_of(project)
        await asyncio.gather(*map(self._cut, projects))

    async def _cut(self, project: str) -> None:
        await self._polls.wait_for_end_of(project, within=POLL_WITHIN)
        await self._inside.fence(project)


async def watch_leases(table: Table, fence: Fence) -> None:
    """Goes on until it is cancelled."""
    leases, silencing = table.leases, set[asyncio.Task[None]]()
    while True:
        left = leases.next_end()
        if left is None:
            leases.granted.clear()
            await leases.granted.wait()
        else:
            await asyncio.sleep(min(left, LOOK_EVERY))
        if ended := leases.take_ended():
            # Nobody waits for the end of the one before: others may end meanwhile.
            task = asyncio.create_task(fence.silence(ended))
            silencing.add(task)
            task.add_done_callback(silencing.discard)
