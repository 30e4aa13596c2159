"""The keys of containers that something has just happened to, so that the watcher looks at them at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ChangedKeys:
    """Filled by any thread, and emptied by the watcher's own. `wake` is set where there may be some."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._lock = threading.Lock()
        self.wake = threading.Event()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, *keys: str) -> None:
        with self._lock:
            self._keys.update(keys)
        if keys:
            self.wake.set()

    @contextmanager
    def taking(self) -> Iterator[set[str]]:
        """All of them. They are kept for later where the look fails."""
        with self._lock:
            keys, self._keys = self._keys, set()
        try:
            yield keys
        except BaseException:
            with self._lock:
                self._keys |= keys
            raise
