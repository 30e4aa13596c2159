"""What is said where a budget has no room for a call."""

from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry, Price
from gateway.periods import Period, end_of
from gateway.rules.refusals import RefusedError, Why


def refusal_of(
    totals: Totals, entry: Entry, hour: int, *, price: Price | None, given: int, least: int
) -> RefusedError | None:
    """None where only calls in flight stand in the way.

    A call that does not fit into what is left is too large for it, and smaller ones go on. Only where hardly anything
    is left the budget is reached.
    """
    if exceeded := totals.exceeds(entry, price=price, given=given, least=least):
        return too_large(exceeded)
    rooms = totals.room(entry, hour, price=price, given=given, with_reserved=False)
    short = [period for period, left in rooms.items() if left is not None and left < least]
    if not short:
        return None
    reached = [period for period in short if totals.is_at_end(entry, period, hour, price=price)]
    return budget_reached(reached[-1], hour) if reached else larger_than_the_rest(short[-1], hour)  # or the month's


def too_large(period: Period) -> RefusedError:
    """The call could not be paid for if nothing were spent: the budget is not at its end."""
    words = f"This request alone may cost more than the whole budget of this agent for a {period}. Send less at a time."
    return RefusedError(Why.TOO_LARGE, words, headers={"X-Berth-Budget": period})


def larger_than_the_rest(period: Period, hour: int) -> RefusedError:
    words = "This request may cost more than what is left of the budget of this agent for a "
    end = end_of(period, hour)
    return RefusedError(
        Why.TOO_LARGE,
        f"{words}{period}, which resets on {end.day} {end:%B}. Send less at a time.",
        headers=_headers(period, hour),
    )


def budget_reached(period: Period, hour: int) -> RefusedError:
    end = end_of(period, hour)
    words = f"The budget of this agent is reached; it resets on {end.day} {end:%B}."
    return RefusedError(Why.QUOTA, words, headers=_headers(period, hour))


def _headers(period: Period, hour: int) -> dict[str, str]:
    return {"X-Berth-Budget": period, "X-Berth-Resets": end_of(period, hour).isoformat()}
