"""An agent's usage by hour or by day."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, Sum
from django.db.models.functions import TruncDay

from projects.models import HourlyUsage, Project
from projects.models.figures.usage import COUNTS
from projects.rules.budget import describe_money
from projects.rules.periods import Period, begin_of

LONGEST = {"hour": timedelta(days=62), "day": timedelta(days=800)}
"""The longest time that one response may cover."""

MOST_LINES = 10_000

FORMULAS = tuple("=+-@\t\r")
"""Spreadsheets take cells that begin with one of these for formulas, and agents may name any model."""


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


def list_usage(*, project: Project, since: datetime, until: datetime, by: str) -> list[UsageLine]:
    """Returns whole hours or UTC days, oldest first: from the one that contains `since`, up to `until`.

    Returns at most `MOST_LINES` and one more, which shows the caller that there are too many.
    """
    begin = begin_of(Period.DAY, since) if by == "day" else since.replace(minute=0, second=0, microsecond=0)
    rows = HourlyUsage.objects.filter(project_id=project.pk, hour__gte=begin, hour__lt=until)
    at: Any = TruncDay("hour", tzinfo=UTC) if by == "day" else F("hour")
    found: Any = rows.order_by().annotate(at=at).values("at", "model")
    sums = {f"sum_{name}": Sum(name) for name in COUNTS}  # the rows have fields of their plain names
    return [_make_line(row) for row in found.annotate(**sums).order_by("at", "model")[: MOST_LINES + 1]]


def write_csv(lines: Iterable[UsageLine]) -> str:
    """Writes CSV with a header line. Times are ISO 8601 in UTC."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # RFC 4180
    writer.writerow(field.name for field in fields(UsageLine))
    for line in lines:
        at, model, *counts = astuple(line)
        writer.writerow([f"{at:%Y-%m-%dT%H:%M:%SZ}", f"'{model}" if model.startswith(FORMULAS) else model, *counts])
    return text.getvalue()


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
