"""The order of projects in a list: trouble first."""

from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Look

ORDER = (Look.ENDED, Look.TROUBLE, Look.UNKNOWN, Look.HELD, Look.MOVING, Look.WELL, Look.STILL)
"""First the projects on which the owner must act, then those that may need them, then those that change by themselves,
then those that are as the owner wants."""

_RANKS = {look: rank for rank, look in enumerate(ORDER)}
_NEEDS_ATTENTION = _RANKS[Look.HELD]


def find_rank(status: Status, facts: Facts) -> int:
    """Returns the rank; 0 comes first. A `restarting` agent after a crash ranks as trouble, not as moving."""
    is_crashing = status == Status.RESTARTING and not facts.operation
    return _RANKS[Look.TROUBLE if is_crashing else status.traits.look]


def needs_attention(rank: int) -> bool:
    return rank <= _NEEDS_ATTENTION
