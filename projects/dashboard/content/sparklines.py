"""The small curves in a list's rows: what each running agent used in the last hour, with one query for all rows."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from accounts import clock
from projects.dashboard.content.project_rows import Row
from projects.models.figures.sample import MINUTE
from projects.rules.disk import describe_size
from projects.rules.svg_charts import draw_line, round_up
from projects.services.reports.samples import Point, floor, read_samples

STEP, PLACES = timedelta(minutes=3), 20
"""The length of a step and the number of steps of a curve."""

LEAST_MEMORY = 64 << 20
"""The least scale of a memory curve in bytes, so that a small agent does not look as if it filled its plan."""


class Curves(NamedTuple):
    """The last values and paths that are `PLACES` wide."""

    cpu: str
    cpu_path: str
    memory: str
    memory_path: str


class RowInUse(NamedTuple):
    """A row, and its curves if its agent runs and was measured."""

    row: Row
    used: Curves | None


def add_curves(rows: Sequence[Row]) -> list[RowInUse]:
    now = clock.now()
    begin = floor(now, STEP) - (PLACES - 1) * STEP
    ids = [UUID(row.id) for row in rows if row.up_since]
    found = read_samples(ids, since=begin, now=now, minutes=MINUTE) if ids else {}
    return [RowInUse(row, _draw(points, begin) if (points := found.get(UUID(row.id))) else None) for row in rows]


def _draw(points: list[Point], begin: datetime) -> Curves:
    cpu: list[float | None] = [None] * PLACES
    memory: list[float | None] = [None] * PLACES
    for point in points:
        place = (point.at - begin) // STEP
        cpu[place] = max(cpu[place] or 0.0, point.cpu)
        memory[place] = max(memory[place] or 0, point.memory)
    most = round_up(max(point.cpu for point in points)), max(LEAST_MEMORY, *(point.memory for point in points))
    return Curves(
        f"{points[-1].cpu:.1f} %",
        draw_line(cpu, top=most[0], digits=0),
        describe_size(points[-1].memory),
        draw_line(memory, top=most[1], digits=0),
    )
