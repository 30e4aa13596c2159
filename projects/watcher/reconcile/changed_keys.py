"""The keys of containers with recent events, so that the watcher inspects them at once."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from containers.vocabulary import EngineEvent
from projects.watcher.reconcile.expected_events import ExpectedEvents
from projects.watcher.reconcile.inspection import AT_ONCE
from projects.watcher.reconcile.pending_events import OF_NO_RUN

EXPECTED_AFTER = 0.25
"""Seconds until a look at a container that a command probably started or ended. The command needs the processors and
records the outcome itself: a start a few milliseconds after the event, and a stop once the engine has taken the ended
container down, which takes a tenth of a second."""


class Taken(NamedTuple):
    """Keys to look at. `expected` has those for which all events were probably caused by a command, with the ids of
    their containers."""

    keys: set[str]
    expected: Mapping[str, str]


class ChangedKeys:
    """A set of keys that any thread fills and the watcher's thread empties."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._expected: dict[str, tuple[float, str]] = {}
        self._expected_events = ExpectedEvents()
        self._put_off: set[str] = set()
        self._ignores = False
        self._lock = threading.Lock()
        self.wake = threading.Event()
        """Ends `wait`. Set if there may be keys."""

    def __len__(self) -> int:
        return len(self._keys) + len(self._expected)

    def add(self, *keys: str) -> None:
        with self._lock:
            if self._ignores or not keys:
                return
            self._keys.update(keys)
        self.wake.set()

    def hear(self, event: EngineEvent) -> None:
        """Adds the key of the event's container. It is due a little later if a command probably caused the event."""
        if self._expected_events.is_expected(event):
            self._add_expected(event.key, event.container_id)
        elif event.action not in OF_NO_RUN:
            self.add(event.key)

    def _add_expected(self, key: str, container_id: str) -> None:
        with self._lock:
            if self._ignores:
                return
            due, _ = self._expected.get(key, (time.monotonic() + EXPECTED_AFTER, ""))
            self._expected[key] = due, container_id
        self.wake.set()

    def wait(self, seconds: float) -> bool:
        """Waits at most so long, or until `wake` is set. Returns whether keys are due."""
        self.wake.wait(min(seconds, self._due_in()))
        self.wake.clear()
        return self._due_in() <= 0

    def _due_in(self) -> float:
        with self._lock:
            if self._keys:
                return 0.0
            return min((due for due, _ in self._expected.values()), default=math.inf) - time.monotonic()

    def ignore(self, *, all_that_comes: bool) -> None:
        """Begins or ends ignoring keys, for the time while another watcher leads. Drops the keys collected so far."""
        with self._lock:
            self._ignores = all_that_comes
            if all_that_comes:
                self._keys, self._put_off, self._expected = set(), set(), {}

    def put_off(self, keys: set[str]) -> None:
        """Adds keys for which a round had no time. Many of them wait for the next round without waking the watcher,
        because each round costs the busy engine a list."""
        if len(keys) <= AT_ONCE:
            self.add(*keys)
            return
        with self._lock:
            self._put_off |= keys

    @property
    def has_put_off(self) -> bool:
        return bool(self._put_off)

    @contextmanager
    def taking(self, *, include_put_off: bool = False) -> Iterator[Taken]:
        """Takes all keys, optionally with those that wait for a round. Keeps them if the block raises."""
        with self._lock:
            keys, expected = self._keys | self._expected.keys(), self._expected
            alone = {key: container_id for key, (_, container_id) in expected.items() if key not in self._keys}
            self._keys, self._expected = set(), {}
            if include_put_off:
                keys |= self._put_off
                self._put_off = set()
        try:
            yield Taken(keys, alone)
        except BaseException:
            with self._lock:
                self._keys |= keys
            raise
