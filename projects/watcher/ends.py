"""How runs of agents ended, as the engine's events tell it.

An engine that starts an agent again by itself forgets at once how the run before ended: only its event says so. And
where many end at once, the kernel may tell of memory that ran out only after the end, which then looks like a kill.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from containers.vocabulary import EngineEvent, Observation

MOST = 5000
"""Containers of which the last end is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last end of a container. `began_at` is None where its start was not heard."""

    began_at: datetime | None
    at: datetime
    exit_code: int | None
    oom_killed: bool


FindEnd = Callable[[str], End | None]
"""The last end of the container with this id, or None where none was heard."""


@dataclass(slots=True)
class _Heard:
    began_at: datetime | None = None
    ran_out_of_memory: bool = False
    end: End | None = None


class Ends:
    """Written by the thread that listens to the engine, and read by the rounds."""

    def __init__(self) -> None:
        self._heard: OrderedDict[str, _Heard] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, container_id: str) -> End | None:
        with self._lock:
            heard = self._heard.get(container_id)
            return heard.end if heard else None

    def note(self, event: EngineEvent) -> None:
        if not event.container_id:
            return
        with self._lock:
            if event.action == "destroy":
                self._heard.pop(event.container_id, None)
                return
            heard = self._heard.setdefault(event.container_id, _Heard())
            self._heard.move_to_end(event.container_id)
            while len(self._heard) > MOST:
                self._heard.popitem(last=False)
            _take(heard, event)


def _take(heard: _Heard, event: EngineEvent) -> None:
    has_ended = heard.end is not None and (heard.began_at is None or heard.began_at <= heard.end.at)
    match event.action:
        case "start":
            heard.began_at, heard.ran_out_of_memory = event.at, False
        case "oom" if has_ended and heard.end is not None:
            heard.end = replace(heard.end, oom_killed=True)
        case "oom":
            heard.ran_out_of_memory = True
        case "die":
            began_at = None if has_ended else heard.began_at
            heard.end = End(
                began_at=began_at, at=event.at, exit_code=event.exit_code, oom_killed=heard.ran_out_of_memory
            )
            heard.ran_out_of_memory = False


def with_late_news(seen: Observation, find_end: FindEnd) -> Observation:
    """What was seen of a container that has ended, with what its events told of its memory."""
    if seen.is_up or seen.oom_killed or seen.exit_code is None:
        return seen
    end = find_end(seen.container_id)
    if end is None or not end.oom_killed or end.exit_code != seen.exit_code:
        return seen
    return replace(seen, oom_killed=True)
