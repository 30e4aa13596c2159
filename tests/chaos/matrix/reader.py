"""A client that keeps reading the list while things break, and compares the answers with the truth."""

import threading
import time
from dataclasses import dataclass

from tests.chaos.database.requests import Answer, Client
from tests.chaos.matrix.witness import Sighting

READ_EVERY = 0.5
AGE = 5.0
"""Seconds by which the contents of a read may be older than the read."""
SLACK = 2.0
"""Seconds of tolerance for what happens between the engine and us on a busy machine."""


@dataclass(frozen=True)
class Reading:
    began: float
    ended: float
    answer: Answer


class Reader:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._ended = threading.Event()
        self.readings: list[Reading] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.wait(READ_EVERY):
            began = time.monotonic()
            answer = self._client.send("GET", "/api/projects")
            self.readings.append(Reading(began, time.monotonic(), answer))

    def close(self) -> None:
        self._ended.set()
        self._thread.join(120)

    def find_lies(self, sightings: list[Sighting]) -> list[str]:
        """Returns the statuses that were true at no moment for which the read vouches."""
        lies = []
        for reading in self.readings:
            if reading.answer.status != 200:
                continue
            since, until = reading.began - AGE - SLACK, reading.ended + SLACK
            lies += [
                f"{project['name']} is told to be {project['status']}, and was not"
                for project in reading.answer.json
                if is_lie(project["status"], project["id"], choose(about(project["id"], sightings), since, until))
            ]
        return sorted(set(lies))


def about(project: str, sightings: list[Sighting]) -> list[Sighting]:
    """Returns the sightings that say something about a project."""
    return [sighting for sighting in sightings if sighting.only in {None, project}]


def choose(sightings: list[Sighting], since: float, until: float) -> list[Sighting]:
    """Returns the sightings of a time, with the one before it and the one after it; empty if one of these is missing.

    A busy engine is not seen often, and a change between two sightings may have happened at any moment.
    """
    before = [sighting for sighting in sightings if sighting.at < since][-1:]
    after = [sighting for sighting in sightings if sighting.at > until][:1]
    inside = [sighting for sighting in sightings if since <= sighting.at <= until]
    return [*before, *inside, *after] if before and after else []


def is_lie(status: str, project: str, sightings: list[Sighting]) -> bool:
    """Without a sighting at that time nothing is known."""
    if not sightings:
        return False
    if status == "running":
        return not any(project in sighting.running for sighting in sightings)
    if status == "degraded":  # as a paused one is
        return not any(project in sighting.running | sighting.paused for sighting in sightings)
    if status in {"stopped", "failed"}:
        return all(project in sighting.running | sighting.paused for sighting in sightings)
    return False
