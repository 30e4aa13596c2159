"""Lets agents store much, and measures it."""

from projects.models import Event, Project
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.fakes.engine import MemoryEngine

GIB = 1 << 30


def keep(engine: MemoryEngine, project: Project, portion: float, *, files: int = 1) -> None:
    """The agent stores this share of its plan's space."""
    project.refresh_from_db()
    engine.fill(project.container_key, int(project.plan.disk * portion), files=files)


def keep_and_measure(engine: MemoryEngine, project: Project, portion: float, *, files: int = 1) -> Project:
    keep(engine, project, portion, files=files)
    measure_disks()
    project.refresh_from_db()
    return project


def fill(engine: MemoryEngine, project: Project) -> Project:
    """The memory is full and was measured, and the watcher has acted."""
    keep_and_measure(engine, project, 1.1)
    reconcile()
    project.refresh_from_db()
    return project


def told(project: Project) -> list[tuple[str, str]]:
    """Returns action and outcome of the events about the disk, the oldest first."""
    rows = Event.objects.filter(project_id=project.pk, action="disk").order_by("pk")
    return list(rows.values_list("action", "outcome"))
