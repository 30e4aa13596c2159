"""The keys of containers with recent events, so that the watcher inspects them at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from projects.watcher.reconcile.inspection import AT_ONCE


class ChangedKeys:
    """A set of keys that any thread fills and the watcher's thread empties. `wake` is set if there may be keys."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._put_off: set[str] = set()
        self._ignores = False
        self._lock = threading.Lock()
        self.wake = threading.Event()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, *keys: str) -> None:
        with self._lock:
            if self._ignores or not keys:
                return
            self._keys.update(keys)
        self.wake.set()

    def ignore(self, *, all_that_comes: bool) -> None:
        """Begins or ends ignoring keys, for the time while another watcher leads. Drops the keys collected so far."""
        with self._lock:
            self._ignores = all_that_comes
            if all_that_comes:
                self._keys, self._put_off = set(), set()

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
    def taking(self, *, include_put_off: bool = False) -> Iterator[set[str]]:
        """Takes all keys, optionally with those that wait for a round. Keeps them if the block raises."""
        with self._lock:
            keys, self._keys = self._keys, set()
            if include_put_off:
                keys |= self._put_off
                self._put_off = set()
        try:
            yield keys
        except BaseException:
            with self._lock:
                self._keys |= keys
            raise
