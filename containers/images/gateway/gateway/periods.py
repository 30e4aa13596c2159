"""Hours, days and months, all of them UTC. Pure."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

HOUR = 3600


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


def hour_of(moment: float) -> int:
    """Returns the number of hours from 1970 to the hour of this moment."""
    return int(moment // HOUR)


@lru_cache(maxsize=64)  # every call needs the same few names several times
def name_of(period: Period, hour: int) -> str:
    """Returns the name of the hour's day, such as 2026-11-22, or of its month, such as 2026-11."""
    return datetime.fromtimestamp(hour * HOUR, UTC).strftime("%Y-%m-%d" if period is Period.DAY else "%Y-%m")


def end_of(period: Period, hour: int) -> datetime:
    """Returns the end of the hour's day or month, when its budget is reset."""
    begin = datetime.fromtimestamp(hour * HOUR, UTC).replace(hour=0, minute=0)
    if period is Period.DAY:
        return begin + timedelta(days=1)
    return (begin.replace(day=1) + timedelta(days=32)).replace(day=1)
