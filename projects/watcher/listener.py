"""Listens to the engine's events, in a thread of its own."""

from collections.abc import Callable
from datetime import datetime
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
        self._beat = pulse.thread("events of the engine")
        super().__init__(name="events", beat=self._beat)  # it ends after the next event, or with the process

    def _run(self) -> None:
        within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
        newest: datetime | None = None
        while not self._stopped.is_set():
            self._beat.expect(LISTENING)
            try:
                # After a silence the stream goes on behind the newest event, so that nothing is missed.
                events = get_engine().events(within, timeout=SILENCE, after=newest)
                if newest is None:
                    self._begin()
                for event in events:
                    self._beat.expect(LISTENING)
                    self._hear(event)
                    newest = event.at
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
