"""Inspects containers side by side, and lets none for which the engine is stuck hold up the others."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from containers.call_limits import seconds_left, time_limit
from containers.docker.lookup import Lookup
from containers.docker.observations import Details, is_plain
from containers.docker_api.client import Connection
from containers.docker_api.errors import is_timeout
from containers.docker_api.reading import longest_wait, with_my_limits
from containers.engine.lists import Keys, is_as_listed
from containers.errors import EngineUnavailableError
from containers.identity import is_ours
from containers.side_work import do_side_by_side
from containers.vocabulary import Observation

PATIENCE = 1.5
"""Seconds for a container to answer. A read has half of what is left to it."""

SHORTEST = 0.3
"""Seconds for each that is asked after one has not answered. One that is well takes some thousandths."""

ONE_CALL = 0.3
"""Seconds that the caller must have left for one more call."""

NOT_ASKED_FOR = 10.0
"""Seconds for which a container that does not answer is not asked again, at most. Meanwhile it is called silent. It is
asked again after as long as it has been silent, because most are so for a moment only."""

FIRST_PAUSE = 0.5
"""Seconds after the first time."""

FORGOTTEN_AFTER = 60.0
"""Seconds after the last pause until a container counts as one that has never been silent."""

CONFIRMED_FOR = 3.0
"""Seconds for which a list is believed of a container of which it was found to tell the truth."""

AT_ONCE = 8
"""Containers of one process that are inspected at a time, beside those of which each caller takes one itself."""


class Inspections:
    """Remembers for all threads which containers do not answer."""

    def __init__(self, connection: Connection, lookup: Lookup, complete: Callable[[Details], Observation]) -> None:
        self._connection = connection
        self._lookup = lookup
        self._complete = complete
        self._stuck_until: dict[str, float] = {}
        self._stuck_since: dict[str, float] = {}
        self._confirmed_until: dict[str, float] = {}
        self._places: dict[int, threading.BoundedSemaphore] = {}

    def inspect_all(self, listed: Sequence[Observation]) -> list[Observation]:
        """The containers with every field exact, those that do not answer as silent, and without those that are gone.

        Raises `EngineUnavailableError` where the engine answers for none.
        """
        now = time.monotonic()
        self._forget(now)
        look = Look(self)
        is_one = len(listed) < 2
        found = [look.inspect(each) for each in listed] if is_one else self._inspect_side_by_side(look, listed)
        return [each for each in found if each is not None]

    def _inspect_side_by_side(self, look: "Look", listed: Sequence[Observation]) -> list[Observation | None]:
        # Of this process: a fork does not have the threads that held its parent's places.
        places = self._places.setdefault(os.getpid(), threading.BoundedSemaphore(AT_ONCE))
        try:
            return do_side_by_side(
                with_my_limits(look.inspect), listed, places=places, most=AT_ONCE - 1, within=longest_wait()
            )
        except TimeoutError as error:
            raise EngineUnavailableError("The engine did not answer in time.") from error

    def complete(self, listed: Sequence[Observation], *, briefly: Keys, doubted: Keys) -> list[Observation]:
        """What `Engine.observe` says of what is listed."""
        believed = {each.container_id for each in listed if is_plain(each) and not self._is_doubted(each, doubted)}
        believed |= {each.container_id for each in listed if not is_ours(each.labels) or each.key in briefly}
        enough = [each for each in listed if each.container_id in believed]
        return enough + self.inspect_all([each for each in listed if each.container_id not in believed])

    def _is_doubted(self, listed: Observation, doubted: Keys) -> bool:
        """But for one of which the list has told the truth just now."""
        now = time.monotonic()
        return listed.key in doubted and self._confirmed_until.get(listed.container_id, now) <= now

    def is_stuck(self, container_id: str) -> bool:
        return time.monotonic() < self._stuck_until.get(container_id, 0.0)

    def note_stuck(self, container_id: str) -> None:
        """Raises `EngineUnavailableError` where the engine does not answer for the others either."""
        with self._connection.call(PATIENCE) as client:
            client.containers(limit=1)
        now = time.monotonic()
        silent_for = now - self._stuck_since.setdefault(container_id, now)
        self._stuck_until[container_id] = now + min(max(silent_for, FIRST_PAUSE), NOT_ASKED_FOR)

    def note_answer(self, container_id: str) -> None:
        self._stuck_since.pop(container_id, None)
        self._stuck_until.pop(container_id, None)

    def _forget(self, now: float) -> None:
        """Those that nobody has asked about for a long time."""
        for each in [each for each, until in list(self._confirmed_until.items()) if until < now]:
            self._confirmed_until.pop(each, None)
        old = [each for each, until in list(self._stuck_until.items()) if until < now - FORGOTTEN_AFTER]
        for each in old:
            self.note_answer(each)

    def read(self, listed: Observation) -> Observation | None:
        """The container with every field exact, or None where it is gone; as listed where a list that says enough is
        right."""
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
        """The container with every field exact, or as one that does not answer; None where it is gone."""
        if self._inspections.is_stuck(listed.container_id) or not _has_time():
            return replace(listed, is_silent=True)
        try:
            with time_limit(self._patience):
                found = self._inspections.read(listed)
        except EngineUnavailableError as error:
            if not is_timeout(error.__cause__ or error):
                raise
        else:
            self._inspections.note_answer(listed.container_id)
            return found
        self._patience = min(self._patience, SHORTEST)
        if _has_time():
            self._inspections.note_stuck(listed.container_id)
        return replace(listed, is_silent=True)


def _has_time() -> bool:
    """Whether the caller has time for one more question. Without it, no answer says nothing about the engine."""
    left = seconds_left()
    return left is None or left > ONE_CALL
