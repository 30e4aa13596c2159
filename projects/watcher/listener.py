"""Listens to the engine's events, in a thread of its own."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings

from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL, EngineEvent
from projects.watcher.heartbeat import LISTENING, Pulse
from projects.watcher.threads import LastingThread

SILENCE = 30.0
"""Seconds without an event after which the connection is replaced, because it may be dead."""

AGAIN = 2.0
"""Seconds until the next attempt if the engine does not answer."""


class Miss(Protocol):
    def __call__(self, *, is_broken: bool) -> None:
        """Called if events may have been missed.

        `is_broken`: the engine ended the stream or did not open one. Otherwise there was no event for long, and only
        events in the moment before the next stream can have been missed.
        """


class Listener(LastingThread):
    """The thread that receives events and passes each to `hear`. It calls `miss` if some may have been missed, and
    `begin` once none will be missed any longer."""

    def __init__(
        self, hear: Callable[[EngineEvent], None], miss: Miss, pulse: Pulse, begin: Callable[[], None] = lambda: None
    ) -> None:
        self._hear = hear
        self._miss, self._begin = miss, begin
        self._within, self._heard_at = {INSTANCE_LABEL: settings.BERTH_INSTANCE}, 0.0
        self._beat = pulse.thread("events of the engine")
        super().__init__(name="events", beat=self._beat)  # it ends after the next event, or with the process

    def _run(self) -> None:
        newest: datetime | None = None
        while not self._stopped.is_set():
            self._beat.expect(LISTENING)
            try:
                for event in self._open(newest):
                    self._beat.expect(LISTENING)
                    self._hear(event)
                    newest, self._heard_at = event.at, time.monotonic()
                    if self._stopped.is_set():
                        return
            except EngineError:
                newest = None  # the next one may be another engine with another clock
                self._miss(is_broken=True)  # at once, because a restarted engine forgets earlier events
                self._stopped.wait(AGAIN)
                self._miss(is_broken=True)  # events during the wait
            else:
                if newest is None:
                    self._miss(is_broken=False)

    def _open(self, newest: datetime | None) -> Iterator[EngineEvent]:
        """Opens the stream, after a silence from the newest event on. Then events are missed only if the engine has
        already forgotten some."""
        events = get_engine().events(self._within, timeout=SILENCE, after=newest)
        if newest is not None and not self._is_known_since(newest):
            self._miss(is_broken=False)
            newest = None
        if newest is None:
            self._begin()
        return events

    def _is_known_since(self, newest: datetime) -> bool:
        """Returns whether the engine still remembers all events of any kind since then. It keeps only a few.

        It is asked up to a moment that is past on its own clock. If it sent the newest event late, that moment is too
        early by as much, and forgotten events after it go unnoticed until the list of the next round.
        """
        until = newest + timedelta(seconds=time.monotonic() - self._heard_at)
        try:
            get_engine().find_newest_event(self._within, since=newest, until=until)
        except EngineError:
            return False
        return True
