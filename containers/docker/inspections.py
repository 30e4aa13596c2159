"""Inspects one container after the other, and lets none for which the engine is stuck hold up the others."""

import time
from collections.abc import Callable
from dataclasses import replace

from containers.call_limits import seconds_left, time_limit
from containers.docker.lookup import Lookup
from containers.docker.observations import Details
from containers.docker_api.client import Connection
from containers.docker_api.errors import is_timeout
from containers.errors import EngineUnavailableError
from containers.vocabulary import Observation

PATIENCE = 3.0
"""Seconds for the containers of one look that do not answer, all together. A read has half of what is left to it."""

SHORTEST = 0.1
"""Seconds that each container has all the same. One that is well takes some thousandths."""

NOT_ASKED_FOR = 10.0
"""Seconds for which a container that did not answer is not asked again. Meanwhile it is called silent at once."""


class Inspections:
    """Remembers for all threads which containers do not answer."""

    def __init__(self, connection: Connection, lookup: Lookup, complete: Callable[[Details], Observation]) -> None:
        self._connection = connection
        self._lookup = lookup
        self._complete = complete
        self._stuck_until: dict[str, float] = {}

    def begin(self) -> "Look":
        now = time.monotonic()
        self._stuck_until = {each: until for each, until in self._stuck_until.items() if until > now}
        return Look(self)

    def is_stuck(self, container_id: str) -> bool:
        return time.monotonic() < self._stuck_until.get(container_id, 0.0)

    def note_stuck(self, container_id: str) -> None:
        """Raises `EngineUnavailableError` where the engine does not answer for the others either."""
        with self._connection.call(PATIENCE) as client:
            client.containers(limit=1)
        self._stuck_until[container_id] = time.monotonic() + NOT_ASKED_FOR

    def read(self, listed: Observation) -> Observation | None:
        """The container with every field exact, or None where it is gone."""
        found = self._lookup.read(listed.container_id)
        return self._complete(found) if found else None


class Look:
    """One look at many containers."""

    def __init__(self, inspections: Inspections) -> None:
        self._inspections = inspections
        left = seconds_left()
        self._patience = PATIENCE if left is None else min(PATIENCE, left / 2)

    def inspect(self, listed: Observation) -> Observation | None:
        """The container with every field exact, or as one that does not answer; None where it is gone."""
        if self._inspections.is_stuck(listed.container_id):
            return replace(listed, is_silent=True)
        try:
            with time_limit(self._patience):
                return self._inspections.read(listed)
        except EngineUnavailableError as error:
            if not is_timeout(error.__cause__ or error):
                raise
        self._patience = SHORTEST
        self._inspections.note_stuck(listed.container_id)
        return replace(listed, is_silent=True)
