"""The state of the installation for the first page of the admin, from the database alone.

It reads a few columns of each project once, with a fixed number of queries.
"""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Q, QuerySet, Sum

from accounts import clock
from accounts.models import User
from projects.models import AgentType, AlertChannel, Batch, EngineHost, Event, Installation, Project, Sample
from projects.models.figures.sample import MINUTE
from projects.rules.event_sentences import describe_event
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.reasons import Reason
from projects.rules.status.statuses import TRAITS, Status
from projects.rules.status.traits import Look
from projects.rules.status.urgency import ORDER, find_rank
from projects.services.images.outdated import OldImages, find_old_images
from projects.services.limits.capacity import Capacity, measure_capacity
from projects.services.staff.batches import find_unfinished
from projects.services.staff.first_rows import MOST_SHOWN, FirstRows
from projects.services.staff.missing_protections import MissingProtection, find_missing_protections

UNREAD = ("settings", "log_tail", "telegram_token_ciphertext", "api_key_ciphertext")
LATEST, LATEST_WITHIN = 8, timedelta(days=7)
"""How many deploys and failures are shown, and their maximum age."""

_DEPLOYS = Q(action="deploy", outcome="done")
_FAILURES = (
    Q(outcome="failed")
    | Q(action__in=["crash", "give up", "declare failed"])
    | (Q(action="deploy") & ~Q(outcome__in=["done", "warning"]))
)

LOOPS_WITHIN = timedelta(minutes=10)
MEASURED_WITHIN = timedelta(minutes=5)
"""The maximum age of a sample that shows the present use."""

_TROUBLE = ORDER.index(Look.TROUBLE)


class Known(NamedTuple):
    """A project with its status and what follows from it."""

    project: Project
    status: Status
    reason: Reason | None
    is_broken: bool
    is_looping: bool


class EventLine(NamedTuple):
    """An event. `name` is empty if the project is gone."""

    at: datetime
    project_id: UUID
    name: str
    sentence: str
    actor: str


class Count(NamedTuple):
    status: Status
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InUse:
    """Use by all agents in the last minute: `cpu` in cores, `memory` in bytes. None if there is no recent sample."""

    cpu: float | None
    memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    counts: Sequence[Count]
    broken: Sequence[Known]
    broken_number: int
    looping: FirstRows[Known]
    host: EngineHost | None
    lacks: Sequence[MissingProtection]
    in_use: InUse
    capacity: Capacity
    disk: Any
    backed_up_at: datetime | None
    told: FirstRows[str]
    kept_by_agents: int
    missing_images: FirstRows[AgentType]
    old_images: FirstRows[OldImages]
    users: int
    without_second_factor: int
    staff_without_second_factor: FirstRows[User]
    deploys: Sequence[EventLine]
    failures: Sequence[EventLine]
    unfinished: Sequence[Batch]


def read_overview() -> Overview:
    known = read_known_projects(Project.objects.all())
    broken = sorted((each for each in known if each.is_broken), key=lambda each: ORDER.index(each.status.traits.look))
    users = User.objects.filter(is_active=True)
    without = users.filter(second_factor=None)
    types = list(AgentType.objects.order_by("slug"))
    host = EngineHost.objects.filter(instance=settings.BERTH_INSTANCE).first()
    return Overview(
        counts=_count(known),
        broken=broken[:MOST_SHOWN],
        broken_number=len(broken),
        looping=FirstRows(each for each in known if each.is_looping),
        host=host,
        lacks=find_missing_protections(host),
        in_use=_measure_use(),
        capacity=measure_capacity(),
        disk=_measure_disk(),
        backed_up_at=Installation.objects.filter(pk=1).values_list("backed_up_at", flat=True).first(),
        told=_find_told(),
        kept_by_agents=sum(each.project.disk_used or 0 for each in known),
        missing_images=FirstRows(each for each in types if each.available and not each.image_id),
        old_images=FirstRows(find_old_images(types, [each.project for each in known])),
        users=users.count(),
        without_second_factor=without.count(),
        staff_without_second_factor=FirstRows(without.filter(is_staff=True)),
        deploys=_read_latest(_DEPLOYS, known),
        failures=_read_latest(_FAILURES, known),
        unfinished=find_unfinished(),
    )


def _read_latest(chosen: Q, known: Sequence[Known]) -> list[EventLine]:
    """Returns the latest of these events, none older than a week."""
    names = {each.project.pk: each.project.name for each in known}
    events = Event.objects.filter(chosen, at__gt=clock.now() - LATEST_WITHIN)[:LATEST]
    return [
        EventLine(
            event.at,
            event.project_id,
            names.get(event.project_id, ""),
            describe_event(event.action, event.outcome, event.detail),
            event.actor,
        )
        for event in events
    ]


def read_known_projects(projects: "QuerySet[Project]") -> list[Known]:
    """Returns each project with its status and reason, with one query. Projects without recent facts are unknown."""
    now = clock.now()
    rows = projects.with_heartbeat().select_related("owner", "plan").defer(*UNREAD)  # type: ignore[attr-defined]  # its own QuerySet
    return [_know(project, project.facts(now)) for project in rows]


def _know(project: Project, facts: Facts) -> Known:
    status = derive_status(facts)
    loops = status == Status.RESTARTING and not facts.operation
    since = project.crashes_since
    loops = loops or (project.crash_count > 1 and since is not None and facts.now - since < LOOPS_WITHIN)
    return Known(project, status, project.explain(facts), find_rank(status, facts) <= _TROUBLE, loops)


def _count(known: Sequence[Known]) -> list[Count]:
    """Counts projects by status, the most urgent status first."""
    numbers = Counter(each.status for each in known)
    return [Count(each, numbers[each]) for each in sorted(numbers, key=lambda each: ORDER.index(TRAITS[each].look))]


def _find_told() -> FirstRows[str]:
    """Returns the emails of staff who get alerts about the service itself."""
    chosen = AlertChannel.objects.filter(service=True, user__is_active=True, user__is_staff=True)
    return FirstRows(chosen.order_by("user__email").values_list("user__email", flat=True).distinct())


def _measure_use() -> InUse:
    minutes = Sample.objects.filter(minutes=MINUTE, at__gt=clock.now() - MEASURED_WITHIN)
    latest = minutes.aggregate(at=Max("at"))["at"]
    used = minutes.filter(at=latest).aggregate(cpu=Sum("cpu"), memory=Sum("memory"))
    return InUse(cpu=None if used["cpu"] is None else used["cpu"] / 10_000, memory=used["memory"])


def _measure_disk() -> Any:
    """Returns total, used and free bytes of the data directory's file system, or None if that fails."""
    try:
        return shutil.disk_usage(settings.BERTH_DATA_DIR)
    except OSError:
        return None
