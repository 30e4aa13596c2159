"""Remembers how runs of agents ended, from the engine's events.

An engine that restarts an agent by itself forgets at once how the former run ended; only its event says so. If many
runs end at once, the kernel may report that memory ran out only after the end, which then looks like a kill.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from containers.vocabulary import EngineEvent, Observation

MOST = 5000
"""How many containers' last ends are remembered."""

LATELY = 60.0
"""Seconds for which an end shows the container's state. If many end at once, the engine takes them down one after the
other, and does not answer about a container until it is done with it."""

STARTED_LATELY = 15.0
"""Seconds for which a start by the engine shows that the container runs, because a busy engine does not answer about it
until the start is done."""

KILLED = 137
"""The exit code after a kill by the kernel."""

LATE = timedelta(seconds=2)
"""How long after the next start the event may come that the former run ran out of memory. An engine that is about to
restart a container sends it after the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last end of a container. `began_at` is None if no start event was received.

    `is_present`: there was no start event since, so the container is down. `is_removed`: the engine has removed it.
    `started_at` is when the next run began, if it has only just begun.
    """

    began_at: datetime | None
    at: datetime
    exit_code: int | None
    oom_killed: bool
    is_present: bool = False
    is_removed: bool = False
    started_at: datetime | None = None

    @property
    def is_unexplained(self) -> bool:
        """Whether the kernel killed it without saying why."""
        return self.exit_code == KILLED and not self.oom_killed


FindEnd = Callable[[str], End | None]
"""Returns the last end of the container with this id, or None if none was received."""


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

    def as_end(self) -> End | None:
        if self.end is None:
            return None
        return replace(self.end, is_present=self.is_down, started_at=self.began_at if self.is_up_again else None)


class RunEnds:
    """The known ends. The thread that listens to the engine writes them, and the rounds read them."""

    def __init__(self) -> None:
        self._heard: OrderedDict[str, _Heard] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, container_id: str) -> End | None:
        with self._lock:
            heard = self._heard.get(container_id)
            return heard.as_end() if heard else None

    def keys_of_ended(self) -> set[str]:
        """Returns the keys of containers that have ended recently, and were not started since or only just now.

        The engine may be busy with each of them and not answer about it.
        """
        with self._lock:
            return {heard.key for heard in self._heard.values() if heard.is_down or heard.is_up_again}

    def note_gap(self) -> None:
        """Notes that events may have been missed, so ended containers may have been started since."""
        with self._lock:
            for heard in self._heard.values():
                heard.down_since = heard.up_since = None

    def refute(self, container_id: str, *, before: float) -> bool:
        """Notes that the engine itself calls the container up, which it would not do after an end before this moment.

        Returns whether an event has said so nevertheless. `before` is on the monotonic clock.
        """
        with self._lock:
            heard = self._heard.get(container_id)
            if heard is None or heard.down_since is None or heard.down_since >= before:
                return False
            heard.down_since = None
            return True

    def note(self, event: EngineEvent) -> None:
        if not event.container_id:
            return
        with self._lock:
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
        case "destroy":
            heard.down_since = heard.up_since = None
            heard.end = replace(heard.end, is_removed=True) if heard.end else None


def _is_late(heard: _Heard, end: End, event: EngineEvent) -> bool:
    """Returns whether an `oom` event just after a start is about the former run, whose kill is unexplained."""
    return end.is_unexplained and heard.began_at is not None and event.at - heard.began_at < LATE


def _was_of_this_run(heard: _Heard, event: EngineEvent) -> bool:
    """Returns whether an `oom` event counted as late was about this run, which was also killed just after its start."""
    at, has_started = heard.late_news_at, heard.down_since is None
    return has_started and at is not None and event.exit_code == KILLED and event.at - at < LATE


def with_late_news(seen: Observation, find_end: FindEnd) -> Observation:
    """Returns the observation of an ended container, marked as out of memory if its events say so."""
    if seen.is_up or seen.oom_killed or seen.exit_code is None:
        return seen
    end = find_end(seen.container_id)
    if end is None or not end.oom_killed or end.exit_code != seen.exit_code:
        return seen
    return replace(seen, oom_killed=True)
