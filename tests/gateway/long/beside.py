"""What goes on in threads beside a proof."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST = 400.0
"""Seconds within which each act ends, once it is over."""


@contextmanager
def going_on(*acts: Callable[[threading.Event], None]) -> Iterator[None]:
    """Each act is given what says that it is over. What one of them raises, this raises in the end."""
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
