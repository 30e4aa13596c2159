"""An agent's usage by hour or by day."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, Sum
from django.db.models.functions import TruncDay

from projects.models import HourlyUsage, Project
from projects.models.figures.usage import COUNTS
from projects.rules.budget import describe_money
from projects.rules.periods import Period, begin_of, end_of
from projects.services.reports.csv_files import write_line

LONGEST = {"hour": timedelta(days=62), "day": timedelta(days=800)}
"""The longest time that one response may cover."""

MOST_LINES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    at: datetime
    model: str
    messages: int
    requests: int
    errors: int
    estimated: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    money: str


def list_usage(
    *, project: Project, since: datetime, until: datetime, by: str, most: int = MOST_LINES, newest_first: bool = False
) -> list[UsageLine]:
    """Returns whole hours or UTC days: from the one that contains `since` to the last one that begins before `until`.

    Returns at most `most` and one more, which shows the caller that there are too many.
    """
    order = ("-at", "model") if newest_first else ("at", "model")
    return [_make_line(row) for row in _add_up(project, since, until, by).order_by(*order)[: most + 1]]


def write_csv(lines: Iterable[UsageLine]) -> str:
    """Writes CSV with a header line. Times are ISO 8601 in UTC."""
    return "".join([write_line(field.name for field in fields(UsageLine)), *map(_write, lines)])


def write_hours(*, project: Project, since: datetime, until: datetime) -> Generator[bytes, None, None]:
    """Writes the same for all hours of a span, however many lines there are. Reads one day at a time."""
    yield write_csv(()).encode()
    for begin, end in _days(since, until):
        lines = map(_make_line, _add_up(project, begin, end, "hour").order_by("at", "model"))
        if piece := "".join(map(_write, lines)):
            yield piece.encode()


def _days(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Divides the span at the ends of UTC days."""
    while since < until:
        end = min(end_of(Period.DAY, since), until)
        yield since, end
        since = end


def _add_up(project: Project, since: datetime, until: datetime, by: str) -> Any:
    at: Any = F("hour")
    begin = since.replace(minute=0, second=0, microsecond=0)
    if by == "day":
        begin, until, at = begin_of(Period.DAY, since), _end_of_last_day(until), TruncDay("hour", tzinfo=UTC)
    rows: Any = HourlyUsage.objects.filter(project_id=project.pk, hour__gte=begin, hour__lt=until)
    sums = {f"sum_{name}": Sum(name) for name in COUNTS}  # the rows have fields of their plain names
    return rows.order_by().annotate(at=at).values("at", "model").annotate(**sums)


def _end_of_last_day(until: datetime) -> datetime:
    """Returns when the last day ends that begins before `until`."""
    if until == begin_of(Period.DAY, until):
        return until
    try:
        return end_of(Period.DAY, until)
    except OverflowError:  # after the year 9999
        return until


def _write(line: UsageLine) -> str:
    at, *cells = astuple(line)
    return write_line([f"{at:%Y-%m-%dT%H:%M:%SZ}", *cells])


def _make_line(row: dict[str, Any]) -> UsageLine:
    return UsageLine(
        at=row["at"],
        model=row["model"],
        messages=row["sum_messages"],
        requests=row["sum_requests"],
        errors=row["sum_errors"],
        estimated=row["sum_estimated"],
        input_tokens=row["sum_input"],
        output_tokens=row["sum_output"],
        cached_tokens=row["sum_cached"],
        money=describe_money(row["sum_money"]),
    )
