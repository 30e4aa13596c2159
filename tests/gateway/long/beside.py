"""Runs threads alongside a proof."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST = 400.0
"""Seconds to wait for each act to end."""


@contextmanager
def going_on(*acts: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs each act in a thread, with an event that tells it to end. Raises the first error of an act at the end."""
    is_over, faults = threading.Event(), list[BaseException]()

    def run(act: Callable[[threading.Event], None]) -> None:
        try:
            act(is_over)
        except BaseException as error:  # noqa: BLE001 - raised below
            faults.append(error)

    threads = [threading.Thread(target=run, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(LONGEST)
    if faults:
        raise faults[0]
