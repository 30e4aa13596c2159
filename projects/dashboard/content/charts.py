"""The charts of a project's resource use in the last hour, day or week, and a table of the same numbers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings

from accounts import clock
from projects.models import Project
from projects.rules.disk import describe_size
from projects.rules.svg_charts import Span, draw_bars, draw_line, place_of, round_up, round_up_bytes
from projects.services.reports.samples import SETTLED, Point, floor
from projects.services.reports.stats import Hour, Series, read_series

HOUR = timedelta(hours=1)

WITHOUT_GATEWAYS = "Of a Swarm, processor, memory and network are measured on the machine of its manager alone."
"""For a Swarm whose nodes have no gateways, which measure there."""


class Used(NamedTuple):
    """The use in one step: mean CPU in per cent of a core, maximum memory in bytes, and network bytes per second."""

    at: datetime
    cpu: float
    memory: int
    received: float
    sent: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A drawing. `lines` are names and paths, `bars` is one path, and `top` is the value at the upper edge."""

    title: str
    summary: str
    top: str
    width: int
    lines: Sequence[tuple[str, str]] = ()
    bars: str = ""
    limit: str = ""
    limit_path: str = ""


def read_span(text: str) -> Span:
    """Returns the span with this name, or the shortest if there is none."""
    return Span(text) if text in set(Span) else Span.HOUR


def describe_charts(project: Project, span: Span) -> dict[str, Any]:
    """Returns the template context of the charts, with two queries and without asking the engine."""
    now = clock.now()
    begin = floor(now - SETTLED, span.step) - span.length + span.step
    series = read_series(project, since=begin, now=now)
    used = gather(series.samples, begin=begin, span=span, minutes=series.minutes)
    known = [each for each in used if each]
    hours = [hour for hour in series.hours if hour.at + HOUR > begin]
    return {
        "project": project,
        "span": span,
        "not_everywhere": WITHOUT_GATEWAYS if settings.BERTH_ENGINE == "swarm" and not settings.BERTH_GATEWAY else "",
        "spans": list(Span),
        "charts": [*_draw_machine(used, series, span), *_draw_hours(hours, begin, span)] if known or hours else [],
        "edges": [begin, begin + span.length / 2, begin + span.length],
        "rows": [_make_row(each) for each in reversed(known)],
        "hours": [(hour.at, f"{hour.messages:,}", f"{hour.tokens:,}") for hour in reversed(hours)],
    }


def gather(points: Iterable[Point], *, begin: datetime, span: Span, minutes: int) -> list[Used | None]:
    """Returns the use in each step of the span, or None for steps without a sample."""
    steps: dict[int, list[Point]] = defaultdict(list)
    for point in points:
        steps[(point.at - begin) // span.step].append(point)
    return [_combine(begin + place * span.step, steps.get(place, []), minutes) for place in range(span.number)]


def _combine(at: datetime, points: list[Point], minutes: int) -> Used | None:
    if not points:
        return None
    seconds = len(points) * minutes * 60
    return Used(
        at,
        sum(point.cpu for point in points) / len(points),
        max(point.memory for point in points),
        sum(point.received for point in points) / seconds,
        sum(point.sent for point in points) / seconds,
    )


def _draw_machine(used: list[Used | None], series: Series, span: Span) -> list[Chart]:
    cpu, memory = [each and each.cpu for each in used], [each and each.memory for each in used]
    received, sent = [each and each.received for each in used], [each and each.sent for each in used]
    limit, width = series.memory_limit, span.number - 1
    most = round_up(_peak(cpu)), max(limit, round(_peak(memory))), round_up_bytes(max(_peak(received), _peak(sent)))
    network = f"received {_sum_up(received, _rate)}; sent {_sum_up(sent, _rate)}"
    both = [("received", draw_line(received, top=most[2])), ("sent", draw_line(sent, top=most[2]))]
    drawn = Chart(
        title="Memory",
        summary=_sum_up(memory, describe_size),
        top=describe_size(most[1]),
        width=width,
        lines=[("", draw_line(memory, top=most[1]))],
        limit=describe_size(limit),
        limit_path=draw_line([limit] * span.number, top=most[1]),
    )
    line = [("", draw_line(cpu, top=most[0]))]
    return [
        Chart(title="CPU", summary=_sum_up(cpu, _per_cent), top=f"{most[0]:g} %", width=width, lines=line),
        drawn,
        Chart(title="Network", summary=network, top=_rate(most[2]), width=width, lines=both),
    ]


def _draw_hours(hours: list[Hour], begin: datetime, span: Span) -> list[Chart]:
    """Draws charts of messages and tokens; none if the gateway has counted nothing."""
    charts = []
    for title, values in (("Messages", [hour.messages for hour in hours]), ("Tokens", [hour.tokens for hour in hours])):
        top = round_up(max(values, default=0))
        place: Any = {"begin": begin, "step": span.step, "number": span.number}
        bars = [
            (place_of(hour.at, **place), place_of(hour.at + HOUR, **place), value)
            for hour, value in zip(hours, values, strict=True)
        ]
        summary = f"{sum(values):,} in the hours shown"
        path = draw_bars(bars, top=top)
        charts.append(Chart(title=title, summary=summary, top=f"{top:,.0f} an hour", width=span.number, bars=path))
    return charts if hours else []


def _sum_up(values: Sequence[float | None], show: Callable[[Any], str]) -> str:
    known = [value for value in values if value is not None]
    return f"{show(known[-1])}, at most {show(max(known))}" if known else "not measured"


def _peak(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=0.0)


def _make_row(used: Used) -> tuple[datetime, str, str, str, str]:
    return used.at, _per_cent(used.cpu), describe_size(used.memory), _rate(used.received), _rate(used.sent)


def _per_cent(value: float) -> str:
    return f"{value:.1f} %"


def _rate(value: float) -> str:
    return f"{describe_size(round(value))}/s"
