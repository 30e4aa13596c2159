"""Opens the connection to the gateway in advance, while the caller prepares its message."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from containers.gateway.protocol import WITHIN
from containers.get_engine import get_engine
from containers.outbound.call_limits import seconds_left
from containers.processes.side_work import SideWork
from projects.models import Project


def remaining_time(most: float) -> float:
    """Returns the seconds that the caller has left, at most `most`."""
    left = seconds_left()
    return most if left is None else min(most, left)


@contextmanager
def connecting_to_gateway(project: Project) -> Iterator[None]:
    """Opens the connection during the block if there is time, so that the message itself takes milliseconds."""
    if not project.has_virtual_credentials:
        yield
        return
    within = remaining_time(WITHIN)
    opening = SideWork(partial(_open, within=within))
    opening.begin()
    try:
        yield
    finally:
        if not opening.cancel():
            opening.wait(within)


def _open(*, within: float) -> None:
    """Opens the connection. Does not use the database."""
    with get_engine().deadline(within):
        get_engine().gateway().prepare(within=within)
