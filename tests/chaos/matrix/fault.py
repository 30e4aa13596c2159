"""What a fault is, how long processes are stopped, and how long clocks are wrong."""

from dataclasses import dataclass
from datetime import timedelta

from tests.chaos.matrix.breaking import Breaking

STEPS = (timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1))
HOURS = (timedelta(hours=-1), timedelta(hours=1))
STOPS = (5.0, 30.0, 120.0)
"""Seconds for which a process is stopped."""


@dataclass(frozen=True)
class Fault:
    """`lasts` is the least number of seconds. `mutes`: while it lasts, the server itself may give no answer.

    `kind`: of the installation that it needs (`tests.chaos.matrix.installation.new_installation`).
    """

    breaking: Breaking
    lasts: float = 3.0
    mutes: bool = False
    kind: str = ""
    loses_deletions: bool = False
    """Deleted projects and undone creations are on the engine again afterwards, and in quarantine minutes later."""


def told(by: timedelta) -> str:
    return f"{by.total_seconds():+.0f} s"
