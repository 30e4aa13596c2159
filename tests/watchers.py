"""Watchers in threads of the test's own process."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from django.db import connections

from projects.watcher.watcher import Watcher

HANG_GUARD = 60.0


@contextmanager
def watchers_in_threads() -> Iterator[Callable[[], Watcher]]:
    """Gives a function that starts one more watcher. All of them are stopped at the end."""
    numbers = itertools.count()
    with ExitStack() as running:

        def start() -> Watcher:
            watcher = Watcher(name=f"watcher {next(numbers)}")
            thread = threading.Thread(target=_run, args=[watcher])
            thread.start()
            running.callback(_end, watcher, thread)
            return watcher

        yield start


@contextmanager
def run_in_thread(watcher: Watcher) -> Iterator[Watcher]:
    """Runs this one, and stops it at the end of the block."""
    thread = threading.Thread(target=_run, args=[watcher])
    thread.start()
    try:
        yield watcher
    finally:
        _end(watcher, thread)


def _run(watcher: Watcher) -> None:
    try:
        watcher.run()
    finally:
        connections.close_all()


def _end(watcher: Watcher, thread: threading.Thread) -> None:
    watcher.stop()
    thread.join(HANG_GUARD)
    assert not thread.is_alive()
