"""Hours, days and months, all of them UTC. Pure."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

HOUR = 3600


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


def hour_of(moment: float) -> int:
    """The number of the hour since 1970 in which this moment lies."""
    return int(moment // HOUR)


def name_of(period: Period, hour: int) -> str:
    """2026-11-22 for the day and 2026-11 for the month of an hour."""
    return datetime.fromtimestamp(hour * HOUR, UTC).strftime("%Y-%m-%d" if period is Period.DAY else "%Y-%m")


def end_of(period: Period, hour: int) -> datetime:
    """When the day or the month of this hour is over, and its budget begins anew."""
    begin = datetime.fromtimestamp(hour * HOUR, UTC).replace(hour=0, minute=0)
    if period is Period.DAY:
        return begin + timedelta(days=1)
    return (begin.replace(day=1) + timedelta(days=32)).replace(day=1)
