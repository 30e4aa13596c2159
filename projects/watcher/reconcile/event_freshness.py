"""Vouches for the rows by the engine's events alone, while a round waits for the engine's list.

If many agents end at once, an engine takes seconds for its list. The heartbeat, which needs a list, would be late, and
all agents would be shown as unknown. But the engine still sends an event for each change. If the rows reflect all
events up to a moment, they are right up to that moment, including rows without events. If no more events come, the
engine is asked for the time of its last event, which it answers at once: if it is known, all events were received.
"""

import logging
import math
import threading
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from accounts import clock
from containers.errors import EngineError, EngineRefusedError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL, EngineEvent
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.heartbeat import IDLE, STEP, Pulse
from projects.watcher.leader import beat_again
from projects.watcher.reconcile.event_updates import Subject, record_events
from projects.watcher.reconcile.least_delay import LeastDelay
from projects.watcher.reconcile.pending_events import News, PendingEvents
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

OVERDUE = 2.5
"""Seconds after the beginning of the last round with a heartbeat. Before that, the next round may still be in time."""

LONGEST = 120.0
"""The most seconds for which events replace a list, from a round with a heartbeat to the end of the next: if many
agents end on a busy machine, each round takes nearly a minute. Berth trusts an engine that never answers no longer."""

EVERY = 0.3
"""The minimum number of seconds between two steps."""

WAIT = 1.0
"""Seconds without an event after which the thread checks whether it must end or ask for the last event."""

MARGIN = 0.1
"""Seconds by which an event may be older than it seems, compared with the fastest event received."""

OVERLAP = 1.0
"""Seconds of known events that the engine is asked about again, because it dates an event before it saves it."""

OPENS_WITHIN = 0.5
"""Seconds from the beginning of the stream until it surely contains all events."""


class EventFreshness(LastingThread):
    """The thread that vouches. The watcher calls `note_round`; the thread that listens to the engine calls `hear` and
    `note_gap`."""

    def __init__(self, name: str, ends: RunEnds, pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("vouching")
        super().__init__(name="vouching", end_within=2 * WAIT, beat=self._beat)
        self._holder, self._ends = name, ends
        self._lock, self._heard = threading.Lock(), threading.Event()
        self._delay = LeastDelay()
        self._newest = -math.inf  # on the engine's clock
        self._may_ask = True
        self._until = -math.inf
        self._whole_since = math.inf
        self._base: float | None = None
        self._untold = PendingEvents()

    def hear(self, event: EngineEvent) -> None:
        """Receives an event. Events come in order. The engine has a clock of its own, which the fastest event tells."""
        at = event.at.timestamp()
        with self._lock:
            is_prompt = self._base is not None and time.monotonic() - self._base < OVERDUE
            if self._delay.note(at, is_prompt=is_prompt) > LONGEST:  # that clock was set back, or an event was wrong
                self._forget_clock()
                self._delay.note(at, is_prompt=False)
            self._newest = max(self._newest, at)
            self._until = at + self._delay.least
            self._untold.hear(event, at=at, heard=time.monotonic())
        self._heard.set()

    def note_open(self) -> None:
        """Notes that from now on all events are received."""
        with self._lock:
            self._whole_since = time.monotonic() + OPENS_WITHIN

    def note_gap(self, *, is_broken: bool) -> None:
        """Notes that events may have been missed. `is_broken`: the engine may be another one with another clock."""
        with self._lock:
            self._whole_since = math.inf
            self._forget_events()
            if is_broken:
                self._forget_clock()

    def _forget_clock(self) -> None:
        self._delay, self._newest = LeastDelay(), -math.inf
        self._forget_events()

    def _forget_events(self) -> None:
        """Until the next round with a heartbeat, events vouch for nothing."""
        self._base, self._until = None, -math.inf
        self._untold.clear()

    def note_round(self, began: float, in_operation: Collection[str] = ()) -> None:
        """Notes a round with a heartbeat that began at this moment, on the monotonic clock. The rows reflect all events
        received before it, except for the keys `in_operation`."""
        with self._lock:
            self._base = began if began >= self._whole_since else None
            self._untold.forget_heard(began, but=in_operation)

    def doubt(self) -> None:
        """Notes a round without a heartbeat: rows may be wrong for which no further event comes."""
        with self._lock:
            self._base = None

    def stop(self) -> None:
        self._stopped.set()
        self._heard.set()
        super().stop()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            self._beat.expect(IDLE)
            self._heard.wait(WAIT)
            if self._stopped.is_set():
                return
            self._heard.clear()
            self._beat.expect(STEP)
            try:
                close_old_connections()
                self.step()
            except DatabaseError as error:
                log.info("The heartbeat is left to the round that is under way: %s", error)
            except Exception:
                log.exception("Vouching by events failed; it is left to the rounds.")
            finally:
                connections.close_all()

    def step(self) -> None:
        """Records the received events and a heartbeat up to which they vouch. Does nothing while rounds are in time."""
        now = time.monotonic()
        with self._lock:
            base = self._base
        if base is None or not OVERDUE <= now - base < LONGEST:
            return
        self._ask(base, now)
        with self._lock:
            until, delay, news = self._until, self._delay.least, self._untold.copy()
        if until <= base:
            return
        heard = {on: _moment(each.at + delay) for on, each in news.items()}
        told, left = record_events(heard, self._ends, before_each=partial(self._beat.expect, STEP))
        if left:
            self._heard.set()  # it may be recorded soon
        if (at := self._told_until(base, {on: news[on] for on in told}, left, until, delay)) and at > base:
            beat_again(self._holder, _moment(at - MARGIN))

    def _ask(self, base: float, now: float) -> None:
        """Asks the engine whether all events from the beginning of that round until now were received."""
        with self._lock:
            delay, newest, heard = self._delay.least, self._newest, self._until - self._delay.least - OVERLAP
        if now - self._until < MARGIN or math.isinf(delay) or not self._may_ask:
            return
        since, until = (datetime.fromtimestamp(each, UTC) for each in (max(newest, base - delay, heard), now - delay))
        try:
            last = get_engine().find_newest_event(
                {INSTANCE_LABEL: settings.BERTH_INSTANCE}, since=since, until=max(since, until)
            )
        except EngineRefusedError:
            self._may_ask = False  # a foreign proxy does not show events caused by others
            return
        except EngineError as error:
            log.debug("The engine does not tell what was the last that happened: %s", error)
            return
        with self._lock:
            is_heard = last is None or last.timestamp() <= self._newest
            if is_heard and self._base == base and self._delay.least == delay:
                self._until = max(self._until, now)

    def _told_until(
        self, base: float, told: Mapping[Subject, News], left: Collection[Subject], until: float, delay: float
    ) -> float | None:
        """Forgets what the rows reflect, and returns up to when they reflect everything except those `left`.

        This is the first event that cannot be recorded yet. It is later than `until` if no event came meanwhile,
        because recording many takes seconds. Returns None if the state was reset meanwhile.
        """
        with self._lock:
            self._untold.forget(told, until=until - delay, now=time.monotonic() - delay)
            limit = until if self._untold else max(until, self._until)
            return min(limit, self._untold.find_oldest(but=left) + self._delay.least) if self._base == base else None


def _moment(monotonic: float) -> datetime:
    return clock.now() - timedelta(seconds=time.monotonic() - monotonic)
