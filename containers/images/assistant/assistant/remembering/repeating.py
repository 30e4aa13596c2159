"""When a reminder that repeats comes next, by the clock on the wall, also where clocks change. Pure rules."""

from datetime import date, datetime, time, timedelta, tzinfo

EVERY = ("day", "weekdays", "week", "month")
LAST_OF_A_MONTH = 28  # every month has this day
SATURDAY = 5


def write_repeat(every: str, first: datetime) -> str:
    """As it is kept: the time of day stays what was asked for, also after a day that lacks it."""
    return f"{every} {first:%H:%M:%S}"


def fit(first: datetime, every: str) -> datetime:
    """The first day that this repeat has, from the one that was asked for on. Raises ValueError where it has none."""
    if every not in EVERY:
        raise ValueError(every)
    if every == "month" and first.day > LAST_OF_A_MONTH:
        raise ValueError("Not every month has this day.")
    while every == "weekdays" and first.weekday() >= SATURDAY:
        first += timedelta(days=1)
    return first


def next_due(due: int, repeat: str, now: float, zone: tzinfo) -> int:
    """The first time after this moment. What was missed comes once."""
    every, _, clock = repeat.partition(" ")
    day, at = datetime.fromtimestamp(due, zone).date(), time.fromisoformat(clock)
    while True:
        day = _following(day, every)
        moment = int(datetime.combine(day, at, zone).timestamp())
        if moment > max(now, due):
            return moment


def _following(day: date, every: str) -> date:
    if every == "month":
        first = (day.replace(day=1) + timedelta(days=31)).replace(day=1)
        return first.replace(day=min(day.day, LAST_OF_A_MONTH))
    day += timedelta(days=7 if every == "week" else 1)
    while every == "weekdays" and day.weekday() >= SATURDAY:
        day += timedelta(days=1)
    return day
