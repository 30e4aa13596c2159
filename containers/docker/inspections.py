"""Inspects containers in parallel. A container at which the engine is stuck does not block the others."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from containers.docker.lookup import Lookup
from containers.docker.observations import Details, is_plain, is_run
from containers.docker.pauses import Pauses
from containers.docker_api.client import Connection
from containers.docker_api.read_limits import longest_wait, with_current_limits
from containers.engine.lists import Keys, Runs, is_as_listed
from containers.errors import EngineUnavailableError
from containers.identity import is_ours
from containers.outbound.call_limits import seconds_left, time_limit
from containers.processes.side_work import do_side_by_side
from containers.vocabulary import Observation

PATIENCE = 1.5
"""Seconds for the engine to answer for a container. A read allows half of its remaining time."""

SHORTEST = 0.3
"""Seconds for each further container after one got no answer. A working one takes a few milliseconds."""

ONE_CALL = 0.3
"""Seconds that the caller must have left for one more call."""

CONFIRMED_FOR = 3.0
"""Seconds for which a list is trusted about a container after it was found to be right about it."""

AT_ONCE = 8
"""Containers that one process inspects in helper threads at a time. Each caller inspects one more itself."""


class Inspections:
    """Remembers for all threads for which containers the engine does not answer."""

    def __init__(self, connection: Connection, lookup: Lookup, complete: Callable[[Details], Observation]) -> None:
        self._connection = connection
        self._lookup = lookup
        self._complete = complete
        self._pauses = Pauses()
        self._confirmed_until: dict[str, float] = {}
        self._places: dict[int, threading.BoundedSemaphore] = {}

    def inspect_all(self, listed: Sequence[Observation]) -> list[Observation]:
        """Returns the containers with every field exact, or marked as silent. Containers that are gone are left out.

        Raises `EngineUnavailableError` if the engine answers for none of them.
        """
        now = time.monotonic()
        self._forget(now)
        look = Look(self)
        is_one = len(listed) < 2
        found = [look.inspect(each) for each in listed] if is_one else self._inspect_side_by_side(look, listed)
        return [each for each in found if each is not None]

    def _inspect_side_by_side(self, look: "Look", listed: Sequence[Observation]) -> list[Observation | None]:
        # For this process: a fork does not have the threads that took its parent's places.
        places = self._places.setdefault(os.getpid(), threading.BoundedSemaphore(AT_ONCE))
        try:
            return do_side_by_side(
                with_current_limits(look.inspect), listed, places=places, most=AT_ONCE - 1, within=longest_wait()
            )
        except TimeoutError as error:
            raise EngineUnavailableError("The engine did not answer in time.") from error

    def complete(
        self, listed: Sequence[Observation], *, briefly: Keys, doubted: Keys, runs: Runs, asked_at: datetime
    ) -> list[Observation]:
        """Returns the result of `Engine.observe` for the listed containers, which the engine was asked for then."""
        within = asked_at, datetime.now(UTC)
        believed = {each.container_id for each in listed if is_plain(each) and not self._is_doubted(each, doubted)}
        believed |= {each.container_id for each in listed if not is_ours(each.labels) or each.key in briefly}
        believed |= {each.container_id for each in listed if each.key in runs and is_run(each, runs[each.key], within)}
        enough = [each for each in listed if each.container_id in believed]
        return enough + self.inspect_all([each for each in listed if each.container_id not in believed])

    def _is_doubted(self, listed: Observation, doubted: Keys) -> bool:
        """Returns whether the list is not to be trusted here. It is if it was found to be right a moment ago."""
        now = time.monotonic()
        return listed.key in doubted and self._confirmed_until.get(listed.container_id, now) <= now

    def is_stuck(self, container_id: str) -> bool:
        return self._pauses.is_on(container_id)

    def note_stuck(self, container_id: str) -> None:
        """Notes a silent container. Raises `EngineUnavailableError` if the engine does not answer for others either."""
        with self._connection.call(PATIENCE) as client:
            client.containers(limit=1)
        self._pauses.begin(container_id)

    def note_answer(self, container_id: str) -> None:
        self._pauses.end(container_id)

    def _forget(self, now: float) -> None:
        """Forgets the notes about containers that were not asked for in a long time."""
        for each in [each for each, until in list(self._confirmed_until.items()) if until < now]:
            self._confirmed_until.pop(each, None)
        self._pauses.forget_old()

    def read(self, listed: Observation) -> Observation | None:
        """Returns the container with every field exact, or None if it is gone. Returns it as listed if the list was
        detailed enough and right."""
        found = self._lookup.read(listed.container_id)
        if found and is_plain(listed) and is_as_listed(found.observation, listed):
            self._confirmed_until[listed.container_id] = time.monotonic() + CONFIRMED_FOR
            return listed
        return self._complete(found) if found else None


class Look:
    """One look at many containers, by several threads."""

    def __init__(self, inspections: Inspections) -> None:
        self._inspections = inspections
        left = seconds_left()
        self._patience = PATIENCE if left is None else min(PATIENCE, left / 2)

    def inspect(self, listed: Observation) -> Observation | None:
        """Returns the container with every field exact or marked as silent, or None if it is gone."""
        if self._inspections.is_stuck(listed.container_id) or not _has_time():
            return replace(listed, is_silent=True)
        try:
            with time_limit(self._patience):
                found = self._inspections.read(listed)
        except EngineUnavailableError:
            pass  # whether the engine answers for the others is found out below
        else:
            self._inspections.note_answer(listed.container_id)
            return found
        self._patience = min(self._patience, SHORTEST)
        if _has_time():
            self._inspections.note_stuck(listed.container_id)
        return replace(listed, is_silent=True)


def _has_time() -> bool:
    """Returns whether the caller has time for one more call. Without it, silence says nothing about the engine."""
    left = seconds_left()
    return left is None or left > ONE_CALL
