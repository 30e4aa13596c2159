"""Usage figures out of Docker's counters. Pure."""

from collections.abc import Mapping
from typing import Any

from containers.docker_errors import understand_answer
from containers.engine import Usage
from containers.reports import parse_time


def read_usage(before: Mapping[str, Any], now: Mapping[str, Any]) -> Usage | None:
    """The usage between two readings of GET /containers/{id}/stats; None where the container was not running."""
    with understand_answer():
        memory = now.get("memory_stats") or {}
        if not memory.get("usage"):
            return None
        networks = (now.get("networks") or {}).values()
        return Usage(
            cpu_percent=_cpu_percent(before, now),
            memory=_memory_in_use(memory),
            memory_limit=int(memory["limit"]),
            network_received=sum(int(one["rx_bytes"]) for one in networks),
            network_sent=sum(int(one["tx_bytes"]) for one in networks),
            pids=int((now.get("pids_stats") or {}).get("current") or 0),
        )


def _cpu_percent(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """Processor time by time passed: 100 is one core."""
    since, at = parse_time(before["read"]), parse_time(now["read"])
    if since is None or at is None or at <= since:
        return 0.0
    used: float = now["cpu_stats"]["cpu_usage"]["total_usage"] - before["cpu_stats"]["cpu_usage"]["total_usage"]
    return max(0.0, round(used / 1e9 / (at - since).total_seconds() * 100, 2))


def _memory_in_use(memory: Mapping[str, Any]) -> int:
    """Without the page cache that the kernel may take back, as `docker stats` counts it (cgroup 1 and 2)."""
    pages = memory.get("stats") or {}
    cache = int(pages.get("total_inactive_file") or pages.get("inactive_file") or 0)
    used = int(memory["usage"])
    return used - cache if cache < used else used
