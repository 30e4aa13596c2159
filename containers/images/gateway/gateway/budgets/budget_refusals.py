"""Builds the errors for calls that do not fit into a budget."""

from gateway.budgets.recent_sizes import RecentSizes, Size
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry, Price
from gateway.meters.usage import Usage, cost_of
from gateway.periods import Period, end_of
from gateway.rules.refusals import RefusedError, Why


def least_cost(price: Price | None, *, input_tokens: int, min_output: int) -> Size:
    """Returns the least that a call needs, with the shortest possible answer."""
    return Size(input_tokens + min_output, cost_of(Usage(input_tokens, min_output), price))


def refusal_of(
    totals: Totals,
    sizes: RecentSizes,
    entry: Entry,
    hour: int,
    *,
    price: Price | None,
    input_tokens: int,
    min_output: int,
) -> RefusedError | None:
    """Returns the refusal, or None if only calls in flight block this one.

    A call is too large if it does not fit into the rest of the budget and is larger than recent calls that did; smaller
    calls continue. The budget is reached if hardly anything is left, or if calls like the recent ones no longer fit.
    """
    if exceeded := totals.exceeds(entry, price=price, input_tokens=input_tokens, min_output=min_output):
        return too_large(exceeded)
    rooms = totals.room(entry, hour, price=price, input_tokens=input_tokens, with_reserved=False)
    short = [period for period, left in rooms.items() if left is not None and left < min_output]
    if not short:
        return None
    need = least_cost(price, input_tokens=input_tokens, min_output=min_output)
    reached = []
    for period in short:
        recent = sizes.recent(entry.project, period, hour)
        if totals.is_nearly_spent(entry, period, hour, price=price, need=need, recent=recent):
            reached.append(period)
    # The last period is the month if both are too short.
    return budget_reached(reached[-1], hour) if reached else larger_than_rest(short[-1], hour)


def refusal_to_extend(totals: Totals, entry: Entry, hour: int, *, price: Price | None, size: Size) -> RefusedError:
    """Returns why an answer that exceeds the requested length must end: it uses up the budget, or others reserved the
    rest.
    """
    filled = totals.filled_by(entry, hour, price=price, size=size)
    return budget_reached(filled, hour) if filled else reserved_by_others()


def reserved_by_others() -> RefusedError:
    return RefusedError(Why.RATE, "Calls in flight have reserved the rest of the budget.", retry_after=5)


def too_large(period: Period) -> RefusedError:
    """Returns the refusal of a call that would not fit even into an unused budget."""
    words = f"This request alone may cost more than the whole budget of this agent for a {period}. Send less at a time."
    return RefusedError(Why.TOO_LARGE, words, headers={"X-Berth-Budget": period})


def larger_than_rest(period: Period, hour: int) -> RefusedError:
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
