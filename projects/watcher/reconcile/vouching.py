"""Vouches for the rows by the engine's events alone, while a round waits for the engine's list.

Where many agents end at once an engine takes seconds for its list, so that the heartbeat, which is of a list, comes
late, and all agents would be told to be unknown. But the engine goes on to tell of each change as it happens. Where the
rows say all that it has told up to a moment, they are right up to that moment, also those of which it has told nothing.
Where it tells nothing more it is asked when the last event was, which it answers at once: all of them were heard.
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
from projects.watcher.ends.ends import Ends
from projects.watcher.leader import beat_again
from projects.watcher.pulse import IDLE, STEP, Pulse
from projects.watcher.reconcile.heard import Subject, tell
from projects.watcher.reconcile.untold import News, Untold
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

OVERDUE = 2.5
"""Seconds from the beginning of the last round that has beaten. Before that its successor may do so in time."""

LONGEST = 120.0
"""Seconds for which events stand in for a list, from a round that has beaten to the end of the next: in a wave on a
busy machine each takes nearly one minute. An engine that answers nothing vouches for nothing either."""

EVERY = 0.3
"""Seconds between two looks at what was heard, at least."""

WAIT = 1.0
"""Seconds without an event after which the thread looks whether it is to end, or to ask for the last one."""

MARGIN = 0.1
"""Seconds by which an event may be older than it seems to be, beside the quickest one that was heard."""

OVERLAP = 1.0
"""Seconds up to what is known to be heard, of which the engine is asked again: it dates an event before it notes it."""

OPENS_WITHIN = 0.5
"""Seconds after its answer has begun until an engine tells all."""


class Vouching(LastingThread):
    """`note_round` is called by the watcher, and `hear` and `note_gap` by the thread that listens to the engine."""

    def __init__(self, name: str, ends: Ends, pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("vouching")
        super().__init__(name="vouching", end_within=2 * WAIT, beat=self._beat)
        self._holder, self._ends = name, ends
        self._lock, self._heard = threading.Lock(), threading.Event()
        self._least_delay = math.inf
        self._newest = -math.inf  # on the engine's clock
        self._may_ask = True
        self._until = -math.inf
        self._whole_since = math.inf
        self._base: float | None = None
        self._untold = Untold()

    def hear(self, event: EngineEvent) -> None:
        """An engine tells one after the other. How late it does so, the quickest of all tells: its clock is its own."""
        at = event.at.timestamp()
        with self._lock:
            self._least_delay = min(self._least_delay, time.monotonic() - at)
            self._newest = max(self._newest, at)
            self._until = at + self._least_delay
            self._untold.hear(event, at=at, heard=time.monotonic())
        self._heard.set()

    def note_open(self) -> None:
        """From now on all is heard."""
        with self._lock:
            self._whole_since = time.monotonic() + OPENS_WITHIN

    def note_gap(self, *, is_broken: bool) -> None:
        """Some events may have been missed. `is_broken`: the engine may be another one, with another clock."""
        with self._lock:
            self._base, self._whole_since, self._until = None, math.inf, -math.inf
            if is_broken:
                self._least_delay, self._newest = math.inf, -math.inf
            self._untold.clear()

    def note_round(self, began: float, in_operation: Collection[str] = ()) -> None:
        """A round that began at this moment, on the monotonic clock, has beaten, and has told all that was heard before
        it, but for what is `in_operation`."""
        with self._lock:
            self._base = began if began >= self._whole_since else None
            self._untold.forget_heard(began, but=in_operation)

    def doubt(self) -> None:
        """A round has ended and cannot beat: some rows may be wrong of which nothing more is heard."""
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
                log.exception("What the engine tells could not be vouched for; it is left to the rounds.")
            finally:
                connections.close_all()

    def step(self) -> None:
        """Writes down what was heard, and up to when. It does nothing while the rounds do so in time."""
        now = time.monotonic()
        with self._lock:
            base = self._base
        if base is None or not OVERDUE <= now - base < LONGEST:
            return
        self._ask(base, now)
        with self._lock:
            until, delay, news = self._until, self._least_delay, self._untold.copy()
        if until <= base:
            return
        heard = {on: _moment(each.at + delay) for on, each in news.items()}
        told, left = tell(heard, self._ends, before_each=partial(self._beat.expect, STEP))
        if left:
            self._heard.set()  # it may be told soon
        if (at := self._told_until(base, {on: news[on] for on in told}, left, until, delay)) and at > base:
            beat_again(self._holder, _moment(at - MARGIN))

    def _ask(self, base: float, now: float) -> None:
        """Whether all that has happened since that round began, until now, was heard."""
        with self._lock:
            delay, newest, heard = self._least_delay, self._newest, self._until - self._least_delay - OVERLAP
        if now - self._until < MARGIN or math.isinf(delay) or not self._may_ask:
            return
        since, until = (datetime.fromtimestamp(each, UTC) for each in (max(newest, base - delay, heard), now - delay))
        try:
            last = get_engine().find_newest_event(
                {INSTANCE_LABEL: settings.BERTH_INSTANCE}, since=since, until=max(since, until)
            )
        except EngineRefusedError:
            self._may_ask = False  # by a proxy of somebody else's, which shows nobody what others have done
            return
        except EngineError as error:
            log.debug("The engine does not tell what was the last that happened: %s", error)
            return
        with self._lock:
            is_heard = last is None or last.timestamp() <= self._newest
            if is_heard and self._base == base and self._least_delay == delay:
                self._until = max(self._until, now)

    def _told_until(
        self, base: float, told: Mapping[Subject, News], left: Collection[Subject], until: float, delay: float
    ) -> float | None:
        """Forgets what the rows say, and returns until when they say all, but those that are `left`: up to the first
        event of which one cannot be told yet, and later than `until` where no more was heard meanwhile, as to tell of
        many takes seconds. None where something has come between."""
        with self._lock:
            self._untold.forget(told, until=until - delay, now=time.monotonic() - delay)
            limit = until if self._untold else max(until, self._until)
            return min(limit, self._untold.find_oldest(but=left) + self._least_delay) if self._base == base else None


def _moment(monotonic: float) -> datetime:
    return clock.now() - timedelta(seconds=time.monotonic() - monotonic)
