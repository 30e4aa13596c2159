"""The events that an engine reports about containers: a part of `containers.engine.Engine`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

from containers.vocabulary import EngineEvent


class ReportsEvents(Protocol):
    def events(
        self, within: Mapping[str, str], *, timeout: float, after: datetime | None = None
    ) -> Iterator[EngineEvent]:
        """Yields events of these containers as they happen. Ends after `timeout` seconds without an event.

        If `after` is given, it is the time of an event: later events that the engine still knows come first.
        """

    def find_newest_event(self, within: Mapping[str, str], *, since: datetime, until: datetime) -> datetime | None:
        """Returns the time of the last of these events between two moments, both past on the engine's clock.

        Returns None if there was none, so that `events` has nothing more to report for that time. The engine answers at
        once, even while lists and inspections wait. Raises `EngineUnavailableError` if the engine cannot say.
        """
