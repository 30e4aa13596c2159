"""Spans of time in words, as the pages tell them: `ago.js` says the same as the time goes by."""

from datetime import datetime, timedelta

_UNITS = ((86400, 48 * 3600, "day"), (3600, 3600, "hour"), (60, 60, "minute"))
"""Seconds of a unit, from how many on it is used, and its name."""


def describe_span(span: timedelta) -> str:
    """Such as `5 minutes`. Hours up to two days; nothing shorter than a minute is told, nor a span from the future."""
    seconds = int(span.total_seconds())
    for size, least, name in _UNITS:
        if seconds >= least:
            number = seconds // size
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"


def describe_ago(at: datetime, *, now: datetime) -> str:
    """Such as `5 minutes ago`."""
    span = now - at
    return "just now" if span < timedelta(minutes=1) else f"{describe_span(span)} ago"
