"""Records measurements of an agent's memory, warns the owner, and keeps the agent down while it is full.

The watcher's next round stops the agent, like everything that must not run.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.services.outbox import queue_mail
from containers.vocabulary import ContainerState, DiskUse
from projects.errors import DiskFullError
from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.bot import BOT_DENIED
from projects.rules.disk import DISK_FULL, FORGET_BELOW, DiskShare
from projects.rules.status.lifecycle import Desired

EVENT = "disk"
WARNED, FULL, ROOM = "warning", "full", "room"
"""The outcomes of the events."""

MAIL = "disk"
"""The kind of the warning mail."""


def check_room(project: Project) -> None:
    """Raises `DiskFullError` if the last measurement found the agent's memory full."""
    share = project.disk_share
    if share.is_full:
        raise DiskFullError(
            f"The memory of “{project.name}” is full: {share.describe()}. Clear the agent's memory or choose a larger "
            "plan, then start."
        )


def find_due() -> QuerySet[Project]:
    """Returns the projects whose memory may have changed since it was measured, the oldest measurement first.

    These are projects whose agent is up, has ended since or is kept down, and those without a valid measurement.
    """
    up = [ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING]
    ended_since = Q(finished_at__gt=F("disk_measured_at")) | Q(updated_at__gt=F("disk_measured_at"))
    unknown = Q(disk_measured_at=None) | Q(disk_measured_at__gt=clock.now())
    due = Q(container_state__in=up) | Q(failure_code=DISK_FULL) | unknown | ended_since
    rows = Project.objects.live().filter(due, instance=settings.BERTH_INSTANCE)
    oldest_first = F("disk_measured_at").asc(nulls_first=True)
    return rows.select_related("owner", "plan", "agent_type").order_by(oldest_first, "pk")


def note_disk_use(project: Project, use: DiskUse) -> bool:
    """Records a measurement of a project that was read before it. Returns whether the agent must be stopped now.

    Does nothing if the memory was cleared or measured by another process meanwhile. Ignores a partial measurement
    unless the part alone is full.
    """
    if use.is_part and not DiskShare(used=use.used, files=use.files, limit=project.disk_share.limit).is_full:
        return False
    now = clock.now()
    mine = Project.objects.filter(pk=project.pk, disk_measured_at=project.disk_measured_at)
    if not mine.update(disk_used=use.used, disk_files=use.files, disk_measured_at=now):
        return False
    project.disk_used, project.disk_files, project.disk_measured_at = use.used, use.files, now
    share = project.disk_share
    if share.is_full:
        return _keep_down(project, now)
    if project.failure_code == DISK_FULL:
        let_run(project)
    if share.is_nearly_full:
        _warn(project, now)
    elif share.portion < FORGET_BELOW and project.disk_warned_at is not None:
        mine.model.objects.filter(pk=project.pk).update(disk_warned_at=None)
    return False


def let_run(project: Project) -> bool:
    """Lets the watcher start the agent again if there is room now. Returns whether it does."""
    if project.disk_share.is_full:
        return False
    return _change(project, ROOM, Q(failure_code=DISK_FULL), failure_code="", failed_at=None)


def _keep_down(project: Project, now: datetime) -> bool:
    """Marks the agent as full, which keeps it down. Stopped projects and those without their bot keep that reason."""
    wanted = Q(desired=Desired.RUNNING, suspended_at=None, operation="", generation=project.generation)
    wanted &= ~Q(failure_code__in=BOT_DENIED | {DISK_FULL})
    return _change(project, FULL, wanted, failure_code=DISK_FULL, failed_at=now)


def _warn(project: Project, now: datetime) -> None:
    """Warns the owner once when it becomes nearly full. If the outbox is full, the next measurement tries again."""
    try:
        with transaction.atomic():
            if _change(project, WARNED, Q(disk_warned_at=None), disk_warned_at=now) and settings.BERTH_SENDS_MAIL:
                facts = {"project": str(project.pk)}
                queue_mail(kind=MAIL, user_id=project.owner_id, facts=facts)
    except OutboxFullError:
        project.disk_warned_at = None


def _change(project: Project, outcome: str, where: Q, **values: Any) -> bool:
    """Writes the values with an event if the row matches `where`. Returns whether it did."""
    with transaction.atomic():
        if not Project.objects.filter(where, pk=project.pk).update(**values, updated_at=clock.now()):
            return False
        project.event(SYSTEM, EVENT, outcome, detail=project.disk_share.describe()).save()
    for name, value in values.items():
        setattr(project, name, value)
    return True


def describe_unmeasured() -> str:
    """Returns the words for a project whose disk use was not measured."""
    is_elsewhere = settings.BERTH_ENGINE == "swarm" and settings.BERTH_SWARM_VOLUME_DRIVER
    return "not measured where a volume driver keeps it" if is_elsewhere else "not measured yet"
