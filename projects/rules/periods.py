"""The hours, days and months in which usage is counted, all in UTC. Pure; the gateway has the same rules."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

HOUR = timedelta(hours=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


def hour_at(number: int) -> datetime:
    """Returns when the hour with this number since 1970 begins. Raises `OverflowError` if the calendar ends before."""
    return EPOCH + number * HOUR


def begin_of(period: Period, moment: datetime) -> datetime:
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if period is Period.DAY else day.replace(day=1)


def end_of(period: Period, moment: datetime) -> datetime:
    """Returns when the period of this moment ends and its budget is reset."""
    begin = begin_of(period, moment)
    if period is Period.DAY:
        return begin + timedelta(days=1)
    return begin_of(Period.MONTH, begin + timedelta(days=32))


def name_day(moment: datetime) -> str:
    """Returns a date like `1 December`."""
    return f"{moment.day} {moment:%B}"
