"""Spans of time in words. `ago.js` updates the same words on open pages."""

from datetime import datetime, timedelta

_UNITS = ((86400, 48 * 3600, "day"), (3600, 3600, "hour"), (60, 60, "minute"))
"""Each unit's length in seconds, the number of seconds from which it is used, and its name."""


def describe_span(span: timedelta) -> str:
    """Returns a span like `5 minutes`. Counts in hours up to two days.

    Returns `less than a minute` for anything shorter, also for a negative span.
    """
    seconds = int(span.total_seconds())
    for size, least, name in _UNITS:
        if seconds >= least:
            number = seconds // size
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"


def describe_ago(at: datetime, *, now: datetime) -> str:
    """Returns a text like `5 minutes ago`."""
    span = now - at
    return "just now" if span < timedelta(minutes=1) else f"{describe_span(span)} ago"
