"""When the entry of a project may count on another node than before. Pure.

A row names the one node whose gateway may be given leases for it (`holder`), and says whether it is leaving that node.
Leases are granted only by somebody who has read the gateway's clock before the row, and found it there and not
leaving. So from the moment at which it is written that it leaves, no lease reaches further than `LEASE` seconds:
a process that has waited that long, or knows that the old node's gateway holds it void, may write the new node into
the row. What was waited is reckoned by the clock of one process, which nobody sets; another process that takes over
begins anew.
"""

from enum import Enum, auto

from containers.gateway.leases import LEASE, MARGIN

WAIT_FOR = LEASE + MARGIN
"""Seconds."""


class Step(Enum):
    STAY = auto()
    TAKE = auto()
    """It counts on the node on which it runs from now on."""
    LEAVE = auto()
    """It is to get no lease on the node of before any more, and to be made void there."""
    WAIT = auto()
    LET_GO = auto()
    """It counts nowhere any more, and no node needs to be asked before it does again."""


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
    """`runs_on` is empty where it runs nowhere. `counts`: it is to be in force anywhere.

    `is_void`: the gateway of `holder` has answered that it is, after the row said that it leaves. `left_for`: seconds
    for which this process has known that the row says so. `is_silent`: the gateway of `holder` has not answered for a
    while. The time runs from then on, so that it is over, or nearly, when the engine takes the node for dead.
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
