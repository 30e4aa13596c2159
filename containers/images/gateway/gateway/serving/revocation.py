"""Ends polls, calls and tunnels when the entry that allowed them has changed or is no longer valid."""

import asyncio

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry
from gateway.entries.table import Table
from gateway.servers.call import ServerCalls
from gateway.serving.in_flight import InFlight
from gateway.sightings import Sightings
from gateway.telegram.polls import Polls
from gateway.tunnels.tunnel import Tunnels

LOOK_EVERY = 0.25
"""Seconds between checks for ended leases. One long sleep would end late after the machine was suspended: the event
loop's clock stops then, but the clock of leases does not."""
POLL_WITHIN = 0.5
"""Seconds in which a poll may end with an empty result, before all connections of a project without a lease are cut."""


class Revocation:
    def __init__(
        self,
        in_flight: InFlight,
        polls: Polls,
        sightings: Sightings,
        ledger: Ledger,
        servers: ServerCalls,
        tunnels: Tunnels,
    ) -> None:
        self._in_flight = in_flight
        self._polls = polls
        self._sightings = sightings
        self._ledger = ledger
        self._servers = servers
        self._tunnels = tunnels

    async def change_entry(self, old: Entry, new: Entry | None) -> None:
        """Ends everything that `old` allowed and `new` does not. None means that the project has no valid entry."""
        self._ledger.change(old.project, new)
        self._sightings.change_entry(old, new)
        if new is None or new.bot != old.bot or new.address != old.address:
            self._polls.end_of(old.project)
        if new is None or new.servers != old.servers or new.hosts != old.hosts:
            self._servers.end_of(old.project)
        if new is None or new.hosts != old.hosts or new.address != old.address:
            self._tunnels.end_of(old.project)
        if new is None or new.address != old.address:
            await self._in_flight.cut(old.project)

    async def end_leases(self, projects: list[str]) -> None:
        """Ends everything of projects whose leases are over. What the gateway has seen of them is kept."""
        for project in projects:
            self._polls.end_of(project)
            self._servers.end_of(project)
            self._tunnels.end_of(project)
        await asyncio.gather(*map(self._cut, projects))

    async def _cut(self, project: str) -> None:
        await self._polls.wait_for_end_of(project, within=POLL_WITHIN)
        await self._in_flight.cut(project)


async def watch_leases(table: Table, revocation: Revocation) -> None:
    """Runs until it is cancelled."""
    leases, ending = table.leases, set[asyncio.Task[None]]()
    while True:
        left = leases.next_end()
        if left is None:
            leases.granted.clear()
            await leases.granted.wait()
        else:
            await asyncio.sleep(min(left, LOOK_EVERY))
        if ended := leases.take_ended():
            # In a task of its own, because other leases may end before this is done.
            task = asyncio.create_task(revocation.end_leases(ended))
            ending.add(task)
            task.add_done_callback(ending.discard)
