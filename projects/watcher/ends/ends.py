"""How runs of agents ended, as the engine's events tell it.

An engine that starts an agent again by itself forgets at once how the run before ended: only its event says so. And
where many end at once, the kernel may tell of memory that ran out only after the end, which then looks like a kill.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from containers.vocabulary import EngineEvent, Observation

MOST = 5000
"""Containers of which the last end is remembered."""

LATELY = 60.0
"""Seconds after an end for which it tells how the container is. Where many end at once, the engine takes them down one
after the other, and answers for none of them before it is done with it."""

STARTED_LATELY = 15.0
"""Seconds after a start by the engine for which it tells that the container runs: a busy engine answers nothing about
it before it is done with the start."""

KILLED = 137
"""The exit code of what the kernel has killed."""

LATE = timedelta(seconds=2)
"""How long after the next start the news may come that the run before had run out of memory. An engine that is about to
start a container again tells it behind the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last end of a container. `began_at` is None where its start was not heard.

    `is_present`: no start was heard since, so that the container is down. `started_at` is that of the run after it,
    where it has begun just now.
    """

    began_at: datetime | None
    at: datetime
    exit_code: int | None
    oom_killed: bool
    is_present: bool = False
    started_at: datetime | None = None

    @property
    def is_unexplained(self) -> bool:
        """Whether the kernel has killed it and has not said why."""
        return self.exit_code == KILLED and not self.oom_killed


FindEnd = Callable[[str], End | None]
"""The last end of the container with this id, or None where none was heard."""


@dataclass(slots=True)
class _Heard:
    key: str = ""
    began_at: datetime | None = None
    ran_out_of_memory: bool = False
    late_news_at: datetime | None = None
    end: End | None = None
    down_since: float | None = None
    up_since: float | None = None

    @property
    def is_down(self) -> bool:
        return self.down_since is not None and time.monotonic() - self.down_since < LATELY

    @property
    def is_up_again(self) -> bool:
        return self.up_since is not None and time.monotonic() - self.up_since < STARTED_LATELY

    def tell(self) -> End | None:
        if self.end is None:
            return None
        return replace(self.end, is_present=self.is_down, started_at=self.began_at if self.is_up_again else None)


class Ends:
    """Written by the thread that listens to the engine, and read by the rounds."""

    def __init__(self) -> None:
        self._heard: OrderedDict[str, _Heard] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, container_id: str) -> End | None:
        with self._lock:
            heard = self._heard.get(container_id)
            return heard.tell() if heard else None

    def keys_of_ended(self) -> set[str]:
        """The keys of containers that have ended lately, and were not started since or only just now.

        The engine may be busy with each of them, and has answered for none.
        """
        with self._lock:
            return {heard.key for heard in self._heard.values() if heard.is_down or heard.is_up_again}

    def note_gap(self) -> None:
        """Some events may have been missed. What has ended may have been started since."""
        with self._lock:
            for heard in self._heard.values():
                heard.down_since = heard.up_since = None

    def note(self, event: EngineEvent) -> None:
        if not event.container_id:
            return
        with self._lock:
            if event.action == "destroy":
                self._heard.pop(event.container_id, None)
                return
            heard = self._heard.setdefault(event.container_id, _Heard(key=event.key))
            self._heard.move_to_end(event.container_id)
            while len(self._heard) > MOST:
                self._heard.popitem(last=False)
            _take(heard, event)


def _take(heard: _Heard, event: EngineEvent) -> None:
    has_ended = heard.end is not None and (heard.began_at is None or heard.began_at <= heard.end.at)
    match event.action:
        case "start":
            heard.began_at, heard.ran_out_of_memory, heard.late_news_at = event.at, False, None
            heard.up_since = time.monotonic() if heard.down_since is not None else None
            heard.down_since = None
        case "oom" if heard.end is not None and (has_ended or _is_late(heard, heard.end, event)):
            heard.end = replace(heard.end, oom_killed=True)
            heard.late_news_at = event.at
        case "oom":
            heard.ran_out_of_memory = True
        case "die":
            began_at = None if has_ended else heard.began_at
            oom_killed = heard.ran_out_of_memory or _was_of_this_run(heard, event)
            heard.end = End(began_at=began_at, at=event.at, exit_code=event.exit_code, oom_killed=oom_killed)
            heard.ran_out_of_memory, heard.late_news_at = False, None
            heard.down_since, heard.up_since = time.monotonic(), None


def _is_late(heard: _Heard, end: End, event: EngineEvent) -> bool:
    """Whether the news just after a start are of the run before, which was killed and nobody has said why."""
    return end.is_unexplained and heard.began_at is not None and event.at - heard.began_at < LATE


def _was_of_this_run(heard: _Heard, event: EngineEvent) -> bool:
    """Whether news that were taken for late ones were none: the run that had just begun was killed at once, too."""
    at, has_started = heard.late_news_at, heard.down_since is None
    return has_started and at is not None and event.exit_code == KILLED and event.at - at < LATE


def with_late_news(seen: Observation, find_end: FindEnd) -> Observation:
    """What was seen of a container that has ended, with what its events told of its memory."""
    if seen.is_up or seen.oom_killed or seen.exit_code is None:
        return seen
    end = find_end(seen.container_id)
    if end is None or not end.oom_killed or end.exit_code != seen.exit_code:
        return seen
    return replace(seen, oom_killed=True)
