"""The way to the gateway: opened while a caller does what has to be done before it has a word for the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from containers.call_limits import seconds_left
from containers.gateway.protocol import WITHIN
from containers.get_engine import get_engine
from containers.side_work import SideWork
from projects.models import Project


def time_for_it(most: float) -> float:
    """The seconds that the caller has left, `most` of them at the most."""
    left = seconds_left()
    return most if left is None else min(most, left)


@contextmanager
def about_to_tell(project: Project) -> Iterator[None]:
    """On exit the way is open, where that could be done in time: the word itself takes milliseconds then."""
    if not project.has_virtual_credentials:
        yield
        return
    within = time_for_it(WITHIN)
    opening = SideWork(partial(_open, within=within))
    opening.begin()
    try:
        yield
    finally:
        if not opening.cancel():
            opening.wait(within)


def _open(*, within: float) -> None:
    """Touches no database."""
    with get_engine().deadline(within):
        get_engine().gateway().prepare(within=within)
