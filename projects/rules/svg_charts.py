"""Draws measurements over time as SVG paths. Pure rules.

Each place is one time step wide and 100 units high. A curve has a gap if nothing was measured.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

HIGH = 100
"""The height of a drawing, in its own units."""

Values = Sequence[float | None]


class Span(StrEnum):
    """The time that a chart covers, and its steps."""

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
        """The number of steps."""
        return self.length // self.step


def round_up(value: float) -> float:
    """Rounds up to the next number that is easy to read: 1, 2 or 5 followed by zeros."""
    size = 1.0
    while size < value:
        size *= 10
    return next(size * part for part in (0.2, 0.5, 1.0) if size * part >= max(value, 1.0))


def round_up_bytes(size: float) -> int:
    """Rounds up like `round_up`, in kilobytes or the larger unit that the size needs."""
    unit = 1024
    while round_up(size / unit) >= 1000:
        unit *= 1024
    return round(round_up(size / unit) * unit)


def draw_line(values: Values, *, top: float, digits: int = 1) -> str:
    """Returns a path along the values. `top` is the value at the upper edge. A single value between gaps is a dot.

    `digits` is the number of decimals of a height.
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
    """Returns a path around the bars. Each has its left and right place and its value; a value of 0 draws no bar."""
    return "".join(f"M{left:g} {HIGH}V{_height(value, top)}H{right:g}V{HIGH}z" for left, right, value in bars if value)


def place_of(moment: datetime, *, begin: datetime, step: timedelta, number: int) -> float:
    """Returns the horizontal place of a moment, limited to the drawing."""
    return round(min(max((moment - begin) / step, 0.0), float(number)), 2)


def _height(value: float, top: float, digits: int = 1) -> str:
    share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
    return f"{round(HIGH * (1 - share), digits):g}"
