"""Computes a container's usage from Docker's counters."""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from containers.agent_reports import parse_time
from containers.docker_api.client import Connection
from containers.docker_api.errors import EmptyAnswerError, MissingError, understand_answer
from containers.vocabulary import Usage

_MOST_READINGS = 20_000
"""Containers whose last reading is remembered: many more than one engine runs."""


class Meter:
    """Turns counters into usage.

    Processor usage is the difference between two readings. Docker would wait a second for the second one. This class
    compares with this process's last reading instead, or with the start of the container if there is none.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[datetime, int]] = {}
        self._lock = threading.Lock()

    def read(self, container_id: str, counters: Mapping[str, Any], *, started_at: datetime | None) -> Usage | None:
        """Returns the usage from the answer of GET /containers/{id}/stats, or None if the container was not running."""
        with understand_answer():
            counters["read"]  # raises for an answer without a time, which is not valid
            memory = counters.get("memory_stats") or {}
            if not memory.get("usage"):
                return None
            networks = counters.get("networks")
            return Usage(
                cpu_percent=self._cpu_percent(container_id, counters, started_at),
                memory=_memory_in_use(memory),
                memory_limit=_count(memory["limit"]),
                network_received=_sum(networks, "rx_bytes"),
                network_sent=_sum(networks, "tx_bytes"),
                pids=_count((counters.get("pids_stats") or {}).get("current") or 0),
            )

    def _cpu_percent(self, container_id: str, counters: Mapping[str, Any], started_at: datetime | None) -> float:
        """Returns processor time per elapsed time, in per cent of one core."""
        at, used = parse_time(counters["read"]), _count(counters["cpu_stats"]["cpu_usage"]["total_usage"])
        with self._lock:
            return self._since_last(container_id, at, used, started_at)

    def _since_last(self, container_id: str, at: datetime | None, used: int, started_at: datetime | None) -> float:
        since, used_before = self._last.get(container_id, (started_at, 0))
        if started_at and since and since < started_at:
            since, used_before = started_at, 0  # a new start resets the counters
        if at is None or since is None or at <= since:
            return 0.0
        self._last.pop(container_id, None)
        self._last[container_id] = at, used
        while len(self._last) > _MOST_READINGS:
            del self._last[next(iter(self._last))]
        # Within the first second, the work of starting alone would look like a very busy processor.
        seconds = max((at - since).total_seconds(), 1.0)
        return max(0.0, round((used - used_before) / 1e9 / seconds * 100, 2))


def read_usage(connection: Connection, meter: Meter, container_id: str, *, started_at: datetime | None) -> Usage | None:
    """Returns the container's current usage, or None if it does not run. Raises `EngineError`."""
    try:
        with connection.call(about_one=True) as client:
            counters: dict[str, Any] = client.stats(container_id, stream=False, one_shot=True)
    except (MissingError, EmptyAnswerError):  # some versions answer with nothing for a container that is being removed
        return None
    return meter.read(container_id, counters, started_at=started_at)


def _memory_in_use(memory: Mapping[str, Any]) -> int:
    """Returns the bytes in use without reclaimable page cache, counted like `docker stats` (cgroup 1 and 2)."""
    pages = memory.get("stats") or {}
    cache = _count(pages.get("total_inactive_file") or pages.get("inactive_file") or 0)
    used = _count(memory["usage"])
    return used - cache if cache < used else used


def _sum(networks: Mapping[str, Mapping[str, Any]] | None, name: str) -> int | None:
    return None if networks is None else sum(_count(network[name]) for network in networks.values())


def _count(value: object) -> int:
    """Returns the counter, which has up to 64 bits. Raises `ValueError` for anything else."""
    if not isinstance(value, int) or not 0 <= value < 2**64:
        raise ValueError
    return value
