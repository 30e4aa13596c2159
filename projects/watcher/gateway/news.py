"""Which of the gateway's sightings are news, so that a look reads the rows of these and no others."""

import time
from collections.abc import Mapping
from uuid import UUID

from containers.gateway.protocol import Sighting

ALL_EVERY = 30.0
"""Seconds between two looks at all rows: what follows from silence follows in minutes."""
SETTLES_WITHIN = 15.0
"""Seconds for which a sighting stays news. What it is about, such as a start, may come to stand in the row after it."""


class Remembered:
    """What one thread has noted. It forgets nothing that the gateway still tells."""

    def __init__(self) -> None:
        self._seen: dict[UUID, tuple[Sighting, float]] = {}
        self._all_at: float | None = None

    def find_news(self, seen: Mapping[UUID, Sighting]) -> list[UUID] | None:
        """The projects of which there is news. None: look at all of them."""
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
