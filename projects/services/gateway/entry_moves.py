"""Decides when a project's entry may become valid on another node. Pure.

A row names the one node whose gateway may get leases for the project (`holder`), and says whether it is leaving that
node. A process grants a lease only if it has read the gateway's clock before the row, and the row names that node and
is not leaving. So once the row says that it leaves, no lease lasts longer than `LEASE` seconds. A process that has
waited that long, or knows that the old node's gateway holds the project void, may write the new node into the row. It
measures the wait with its own monotonic clock; another process that takes over starts the wait again.
"""

from enum import Enum, auto

from containers.gateway.leases import LEASE, MARGIN

WAIT_FOR = LEASE + MARGIN
"""Seconds."""


class Step(Enum):
    STAY = auto()
    TAKE = auto()
    """Assign it to the node on which it runs."""
    LEAVE = auto()
    """Give it no more leases on its former node, and make it void there."""
    WAIT = auto()
    LET_GO = auto()
    """It is valid nowhere now, so any node may take it later without asking another one."""


def next_step(
    *,
    holder: str,
    leaves: bool,
    runs_on: str,
    is_void: bool,
    left_for: float,
    counts: bool = True,
    is_silent: bool = False,
) -> Step:
    """Returns the next step for a project.

    - `runs_on`: the node on which it runs, or empty.
    - `counts`: it should be in force somewhere.
    - `is_void`: after the row said that it leaves, the gateway of `holder` confirmed the project as void.
    - `left_for`: the seconds for which this process has known that the row says so.
    - `is_silent`: the gateway of `holder` has not answered for a while. The wait then begins at once, so that it is
      nearly over when the engine declares the node dead.
    """
    is_over = is_void or left_for >= WAIT_FOR
    if not counts:
        return _end(holder=holder, leaves=leaves, is_over=is_over)
    if not holder:
        return Step.TAKE if runs_on else Step.STAY
    if not runs_on or holder == runs_on:
        return _stay(leaves=leaves, is_silent=is_silent, runs=bool(runs_on))
    if not leaves:
        return Step.LEAVE
    return Step.TAKE if is_over else Step.WAIT


def _end(*, holder: str, leaves: bool, is_over: bool) -> Step:
    if not holder:
        return Step.STAY
    if not leaves:
        return Step.LEAVE
    return Step.LET_GO if is_over else Step.WAIT


def _stay(*, leaves: bool, is_silent: bool, runs: bool) -> Step:
    if is_silent:
        return Step.STAY if leaves else Step.LEAVE
    return Step.TAKE if leaves and runs else Step.STAY
