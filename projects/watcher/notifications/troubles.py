"""Writes events for agents that get into trouble or are well again, for alerts and owners.

A crash already has an event. Reported trouble and recovery count once they have lasted, so that a flapping agent causes
few events.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import clock
from accounts.moments import is_recent
from containers.vocabulary import ContainerState, Health
from projects.models import Project, Trouble
from projects.models.columns.at_rest import AT_REST
from projects.models.event import SYSTEM
from projects.rules.alerts import DEGRADED, RECOVER
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.traits import ForAlerts
from projects.services.staff.overview import UNREAD

CRASH = "crash"

LASTS = timedelta(seconds=30)
"""How long trouble must last before it becomes an event."""

WELL_FOR = timedelta(minutes=1)
"""How long an agent must be well before that becomes an event."""

_LOOKS_BAD = ~AT_REST & (
    Q(container_state=str(ContainerState.PAUSED))
    | Q(container_state=str(ContainerState.RUNNING), health=str(Health.UNHEALTHY))
    | Q(container_state=str(ContainerState.RUNNING), agent_state__in=["degraded", "failed"])
    | (Q(container_state=str(ContainerState.RUNNING)) & ~Q(seen_code=""))
)


def note_crash(project_id: UUID) -> bool:
    """Records that a project has crashed. The reader of the events calls it. Returns False if the project is gone."""
    if not Project.objects.filter(pk=project_id).exists():
        return False
    Trouble.objects.update_or_create(
        project_id=project_id, defaults={"told": CRASH, "well_since": None}, create_defaults={"told": CRASH}
    )
    return True


def note_troubles() -> None:
    """Compares all rows that may be in trouble with their known trouble. Each project is one short transaction."""
    now = clock.now()
    looked_at: set[UUID] = set()
    # Two queries, because a single one with both conditions would scan the whole table.
    for condition in (_LOOKS_BAD, Q(pk__in=Trouble.objects.values("pk"))):
        rows = Project.objects.filter(condition, instance=settings.BERTH_INSTANCE).order_by()
        related = rows.with_heartbeat().select_related("owner", "plan", "agent_type").defer(*UNREAD)
        for project in related:
            if project.pk not in looked_at:
                looked_at.add(project.pk)
                _compare(project, project.facts(now))


def _compare(project: Project, facts: Facts) -> None:
    status = derive_status(facts)
    if status == Status.DEGRADED and facts.has_reached_budget and not facts.seen_code:
        return  # another event reports that
    known = Trouble.objects.filter(pk=project.pk)
    match status.traits.for_alerts:
        case ForAlerts.OVER:
            known.delete()
        case ForAlerts.TROUBLE:
            _note_degraded(project, known, facts)
        case ForAlerts.WELL:
            _note_well(project, known, facts.now)
        case ForAlerts.WORSE:
            known.exclude(well_since=None).update(well_since=None)
        case ForAlerts.PASSING:
            pass


def _note_degraded(project: Project, known: QuerySet[Trouble], facts: Facts) -> None:
    trouble, is_new = Trouble.objects.get_or_create(pk=project.pk, defaults={"since": facts.now})
    if trouble.told == CRASH and trouble.well_since is not None:
        known.update(well_since=None)
    if is_new or trouble.told == DEGRADED or is_recent(trouble.since, within=LASTS, now=facts.now):
        known.exclude(well_since=None).update(well_since=None)
        return
    reason = project.explain(facts)
    code = reason.code if reason else DEGRADED
    with transaction.atomic():
        if known.filter(told=trouble.told).update(told=DEGRADED, well_since=None):
            project.event(SYSTEM, DEGRADED, code).save()


def _note_well(project: Project, known: QuerySet[Trouble], now: datetime) -> None:
    trouble = known.first()
    if trouble is None:
        return
    if not trouble.told:
        known.filter(told="").delete()
    elif trouble.well_since is None:
        known.filter(well_since=None).update(well_since=now)
    elif not is_recent(trouble.well_since, within=WELL_FOR, now=now):
        with transaction.atomic():
            if known.filter(well_since=trouble.well_since).delete()[0]:
                project.event(SYSTEM, RECOVER, "done").save()
