"""Curves of what was measured over time, as paths of SVG. Pure rules.

A place is one step of time wide, and a hundred high. Where nothing was measured a curve has a gap.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

HIGH = 100
"""The height of a drawing, in its own units."""

Values = Sequence[float | None]


class Span(StrEnum):
    """How long a time charts show, and in which steps."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"

    @property
    def length(self) -> timedelta:
        return {Span.HOUR: timedelta(hours=1), Span.DAY: timedelta(days=1), Span.WEEK: timedelta(days=7)}[self]

    @property
    def step(self) -> timedelta:
        steps = {Span.HOUR: timedelta(minutes=1), Span.DAY: timedelta(minutes=10), Span.WEEK: timedelta(hours=1)}
        return steps[self]

    @property
    def label(self) -> str:
        return {Span.HOUR: "1 hour", Span.DAY: "24 hours", Span.WEEK: "7 days"}[self]

    @property
    def number(self) -> int:
        """Of steps."""
        return self.length // self.step


def round_up(value: float) -> float:
    """The next number that reads well: 1, 2 or 5 with zeros."""
    size = 1.0
    while size < value:
        size *= 10
    return next(size * part for part in (0.2, 0.5, 1.0) if size * part >= max(value, 1.0))


def round_up_bytes(size: float) -> int:
    """The same in kilobytes, or in the larger unit that it takes."""
    unit = 1024
    while round_up(size / unit) >= 1000:
        unit *= 1024
    return round(round_up(size / unit) * unit)


def draw_line(values: Values, *, top: float, digits: int = 1) -> str:
    """A path along the values, of which `top` is as high as the drawing. One value between gaps is a dot.

    `digits` are those of a height behind the point.
    """
    pieces: list[str] = []
    is_down = False
    for place, value in enumerate(values):
        if value is None:
            is_down = False
            continue
        pieces.append(f"{'L' if is_down else 'M'}{place} {_height(value, top, digits)}")
        if not is_down and (place + 1 == len(values) or values[place + 1] is None):
            pieces.append("h0")
        is_down = True
    return "".join(pieces)


def draw_bars(bars: Iterable[tuple[float, float, float]], *, top: float) -> str:
    """A path around bars, each from one place to another, with its value. Nothing is no bar."""
    return "".join(f"M{left:g} {HIGH}V{_height(value, top)}H{right:g}V{HIGH}z" for left, right, value in bars if value)


def place_of(moment: datetime, *, begin: datetime, step: timedelta, number: int) -> float:
    """Where in the drawing a moment is, at most at one of its ends."""
    return round(min(max((moment - begin) / step, 0.0), float(number)), 2)


def _height(value: float, top: float, digits: int = 1) -> str:
    share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
    return f"{round(HIGH * (1 - share), digits):g}"
