"""Computes when a repeating reminder is due next, in local time and across daylight-saving changes. Pure functions."""

from datetime import date, datetime, time, timedelta, tzinfo

EVERY = ("day", "weekdays", "week", "month")
LAST_OF_A_MONTH = 28  # every month has this day
SATURDAY = 5


def format_repeat(every: str, first: datetime) -> str:
    """Returns the stored format. It contains the requested time of day, which a day with a clock change may lack."""
    return f"{every} {first:%H:%M:%S}"


def first_due(first: datetime, every: str) -> datetime:
    """Returns the first valid day of this repeat, from the requested one onwards. Raises ValueError if the repeat is
    unknown or not every month has the day.
    """
    if every not in EVERY:
        raise ValueError(every)
    if every == "month" and first.day > LAST_OF_A_MONTH:
        raise ValueError("Not every month has this day.")
    while every == "weekdays" and first.weekday() >= SATURDAY:
        first += timedelta(days=1)
    return first


def next_due(due: int, repeat: str, now: float, zone: tzinfo) -> int:
    """Returns the first time (Unix time) after `now`, so that several missed times are delivered only once."""
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
