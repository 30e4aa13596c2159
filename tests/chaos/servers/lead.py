"""Describes why nobody leads: the lease, who waits for its row, and what the machines' logs say about the watchers."""

import os
from typing import Any, Protocol

from tests.chaos.servers.machines import Machine

LEASE = "SELECT holder, lease_until - now() AS left, now() - heartbeat_at AS last_heartbeat FROM projects_watch"
SESSIONS = """
    SELECT pid, state, wait_event_type, pg_blocking_pids(pid) AS waits_for, now() - state_change AS since,
           left(query, 200)
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (query LIKE '%projects_watch%' OR state LIKE '%idle in%')
"""
CONNECTIONS = "SELECT count(*), current_setting('max_connections') FROM pg_stat_activity"
SHOWN = 25
"""How many of the newest lines of a machine's log about its watcher are shown, and of all lines."""


class Servers(Protocol):
    machines: list[Machine]

    def rows(self, query: str) -> list[Any]: ...


def describe_lead(servers: Servers) -> str:
    lines = [f"Nobody leads, at a load of {os.getloadavg()[0]:.0f}"]
    for title, query in (("lease", LEASE), ("sessions", SESSIONS), ("connections, and most", CONNECTIONS)):
        lines.append(f"{title}: {[tuple(map(str, row)) for row in servers.rows(query)]}")
    for machine in servers.machines:
        log = machine.log.read_text().splitlines()
        of_watcher = [line for line in log if "atch" in line or "lease" in line][-SHOWN:]
        lines += [f"-- {machine.name}: {machine.describe()}", *of_watcher, "-- its last lines", *log[-SHOWN:]]
    return "\n".join(lines)
