"""Listens to the engine's events, in a thread of its own."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings

from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL, EngineEvent
from projects.watcher.pulse import LISTENING, Pulse
from projects.watcher.threads import LastingThread

SILENCE = 30.0
"""Seconds without an event after which the connection is made anew: it may be dead."""

AGAIN = 2.0
"""Seconds until the next try where the engine does not answer."""


class Miss(Protocol):
    def __call__(self, *, is_broken: bool) -> None:
        """`is_broken`: the engine has ended the stream, or could not be asked for one. Else there was long no event,
        and what was missed can only have happened in the moment before the next stream."""


class Listener(LastingThread):
    """`hear` gets each event, in that thread. `miss` is called where some may have been missed, and `begin` when none
    will be any more."""

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
                newest = None  # it may be another engine, with another clock
                self._miss(is_broken=True)  # at once: one that comes back soon knows nothing of what was before
                self._stopped.wait(AGAIN)
                self._miss(is_broken=True)  # what has happened meanwhile
            else:
                if newest is None:
                    self._miss(is_broken=False)

    def _open(self, newest: datetime | None) -> Iterator[EngineEvent]:
        """After a silence the stream goes on behind the newest event: what came behind it is missed only where the
        engine has forgotten some of that."""
        events = get_engine().events(self._within, timeout=SILENCE, after=newest)
        if newest is not None and not self._is_known_since(newest):
            self._miss(is_broken=False)
            newest = None
        if newest is None:
            self._begin()
        return events

    def _is_known_since(self, newest: datetime) -> bool:
        """Whether the engine can still tell all that it has done since then, of any kind. It keeps little.

        It is asked up to a moment that is past on its own clock. Where it told the newest event late, that is as much
        too early, and what it has forgotten since goes unnoticed until a round's list.
        """
        until = newest + timedelta(seconds=time.monotonic() - self._heard_at)
        try:
            get_engine().find_newest_event(self._within, since=newest, until=until)
        except EngineError:
            return False
        return True
