"""What is said where a budget has no room for a call. Pure."""

from gateway.periods import Period, end_of
from gateway.rules.refusals import RefusedError, Why


def too_large(period: Period) -> RefusedError:
    """The call could not be paid for if nothing were spent: the budget is not at its end."""
    words = f"This request alone may cost more than the whole budget of this agent for a {period}. Send less at a time."
    return RefusedError(Why.TOO_LARGE, words)


def budget_reached(period: Period, hour: int) -> RefusedError:
    end = end_of(period, hour)
    words = f"The budget of this agent is reached; it resets on {end.day} {end:%B}."
    return RefusedError(Why.QUOTA, words, headers={"X-Berth-Budget": period, "X-Berth-Resets": end.isoformat()})
