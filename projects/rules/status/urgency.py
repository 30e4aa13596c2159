"""The order in which a list shows projects: trouble first."""

from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Look

ORDER = (Look.ENDED, Look.TROUBLE, Look.UNKNOWN, Look.HELD, Look.MOVING, Look.WELL, Look.STILL)
"""What its owner has to act on, what may need them, what changes by itself, what is as they want it."""

_RANKS = {look: rank for rank, look in enumerate(ORDER)}
_NEEDS_ATTENTION = _RANKS[Look.HELD]


def find_rank(status: Status, facts: Facts) -> int:
    """0 comes first. An agent that is tried again between two crashes is in trouble, although it moves."""
    is_crashing = status == Status.RESTARTING and not facts.operation
    return _RANKS[Look.TROUBLE if is_crashing else status.traits.look]


def needs_attention(rank: int) -> bool:
    return rank <= _NEEDS_ATTENTION
