"""What an engine tells of what happens to containers: a part of `containers.engine.Engine`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

from containers.vocabulary import EngineEvent


class TellsEvents(Protocol):
    def events(
        self, within: Mapping[str, str], *, timeout: float, after: datetime | None = None
    ) -> Iterator[EngineEvent]:
        """Events of these containers as they happen. Ends after `timeout` seconds without one.

        With the moment of an event, what has happened `after` it comes first, as far as the engine still knows.
        """

    def find_newest_event(self, within: Mapping[str, str], *, since: datetime, until: datetime) -> datetime | None:
        """When the last of these events was, of those between two moments that are past on the engine's clock.

        None where there was none: `events` has nothing more to tell of that time. It is answered at once, also where
        lists and inspections wait. Raises `EngineUnavailableError` where the engine cannot say.
        """
