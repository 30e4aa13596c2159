"""Finds out which of the gateway's sightings have changed, so that only their rows are read."""

import time
from collections.abc import Mapping
from uuid import UUID

from containers.gateway.sightings import Sighting

ALL_EVERY = 30.0
"""Seconds between two checks of all rows. Silence only matters after minutes."""
SETTLES_WITHIN = 15.0
"""Seconds for which a sighting counts as new, because the row may record what it is about, such as a start, later."""


class Remembered:
    """The sightings that one thread has recorded, for as long as the gateway reports them."""

    def __init__(self) -> None:
        self._seen: dict[UUID, tuple[Sighting, float]] = {}
        self._all_at: float | None = None

    def find_news(self, seen: Mapping[UUID, Sighting]) -> list[UUID] | None:
        """Returns the projects with new sightings, or None if all rows must be checked."""
        now, known = time.monotonic(), self._seen
        self._seen = {
            project: known[project] if project in known and known[project][0] == sighting else (sighting, now)
            for project, sighting in seen.items()
        }
        if self._all_at is None or now - self._all_at >= ALL_EVERY:
            self._all_at = now
            return None
        gone = known.keys() - seen.keys()
        return [*(each for each, (_, since) in self._seen.items() if now - since < SETTLES_WITHIN), *gone]
