"""Hours, days and months in which usage is counted, all of them UTC. Pure; the gateway has the same."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

HOUR = timedelta(hours=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


def hour_at(number: int) -> datetime:
    """When the hour of this number since 1970 begins. Raises `OverflowError` for one beyond the calendar."""
    return EPOCH + number * HOUR


def begin_of(period: Period, moment: datetime) -> datetime:
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if period is Period.DAY else day.replace(day=1)


def end_of(period: Period, moment: datetime) -> datetime:
    """When the period of this moment is over, and its budget begins anew."""
    begin = begin_of(period, moment)
    if period is Period.DAY:
        return begin + timedelta(days=1)
    return begin_of(Period.MONTH, begin + timedelta(days=32))


def name_day(moment: datetime) -> str:
    """Such as `1 December`."""
    return f"{moment.day} {moment:%B}"
