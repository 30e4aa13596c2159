"""The keys of containers that something has just happened to, so that the watcher looks at them at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from projects.watcher.reconcile.inspection import AT_ONCE


class ChangedKeys:
    """Filled by any thread, and emptied by the watcher's own. `wake` is set where there may be some."""

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
        """While another watcher looks at all, none are gathered, and nobody is woken. Those gathered are forgotten."""
        with self._lock:
            self._ignores = all_that_comes
            if all_that_comes:
                self._keys, self._put_off = set(), set()

    def put_off(self, keys: set[str]) -> None:
        """Those that a look had no time for. Many of them wait for the next round, and do not wake anybody: each round
        costs the engine a list, and it has enough to do."""
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
        """All of them, and on request those that wait for a round. They are kept for later where the look fails."""
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
