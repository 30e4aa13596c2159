"""How the installation is, for the first page of the admin: what the database knows. No engine is asked.

All projects are read once, a few columns of each; the number of queries depends on nothing.
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
from projects.rules.event_sentences import tell_event
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.reasons import Reason
from projects.rules.status.statuses import TRAITS, Status
from projects.rules.status.traits import Look
from projects.rules.status.urgency import ORDER, find_rank
from projects.services.images.outdated import OldImages, find_old_images
from projects.services.limits.capacity import Capacity, measure_capacity
from projects.services.staff.batches import find_unfinished
from projects.services.staff.lacks import Lack, find_lacks

UNREAD = ("settings", "log_tail", "telegram_token_ciphertext", "api_key_ciphertext")
MOST_SHOWN = 20
"""Projects in trouble that the page names; it says how many there are."""

LATEST, LATEST_WITHIN = 8, timedelta(days=7)
"""Deploys and failures that are shown, and how old they are at most."""

_DEPLOYS = Q(action="deploy", outcome="done")
_FAILURES = (
    Q(outcome="failed")
    | Q(action__in=["crash", "give up", "declare failed"])
    | (Q(action="deploy") & ~Q(outcome__in=["done", "warning"]))
)

LOOPS_WITHIN = timedelta(minutes=10)
MEASURED_WITHIN = timedelta(minutes=5)
"""How old a minute may be that still tells what is in use."""

_TROUBLE = ORDER.index(Look.TROUBLE)


class Known(NamedTuple):
    """A project with what follows from its columns."""

    project: Project
    status: Status
    reason: Reason | None
    is_broken: bool
    is_looping: bool


class Told(NamedTuple):
    """An event. `name` is empty where the project is gone."""

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
    """By all agents in the latest minute: `cpu` in cores, `memory` in bytes. None where none was measured lately."""

    cpu: float | None
    memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    counts: Sequence[Count]
    broken: Sequence[Known]
    broken_number: int
    looping: Sequence[Known]
    host: EngineHost | None
    lacks: Sequence[Lack]
    in_use: InUse
    capacity: Capacity
    disk: Any
    backed_up_at: datetime | None
    told: Sequence[str]
    kept_by_agents: int
    missing_images: Sequence[AgentType]
    old_images: Sequence[OldImages]
    users: int
    without_second_factor: int
    staff_without_second_factor: Sequence[User]
    deploys: Sequence[Told]
    failures: Sequence[Told]
    unfinished: Sequence[Batch]


def read_overview() -> Overview:
    known = know_all(Project.objects.all())
    broken = sorted((each for each in known if each.is_broken), key=lambda each: ORDER.index(each.status.traits.look))
    users = User.objects.filter(is_active=True)
    without = users.filter(second_factor=None)
    types = list(AgentType.objects.order_by("slug"))
    host = EngineHost.objects.filter(instance=settings.BERTH_INSTANCE).first()
    return Overview(
        counts=_count(known),
        broken=broken[:MOST_SHOWN],
        broken_number=len(broken),
        looping=[each for each in known if each.is_looping][:MOST_SHOWN],
        host=host,
        lacks=find_lacks(host),
        in_use=_measure_use(),
        capacity=measure_capacity(),
        disk=_measure_disk(),
        backed_up_at=Installation.objects.filter(pk=1).values_list("backed_up_at", flat=True).first(),
        told=_find_told(),
        kept_by_agents=sum(each.project.disk_used or 0 for each in known),
        missing_images=[each for each in types if each.available and not each.image_id],
        old_images=find_old_images(types, [each.project for each in known]),
        users=users.count(),
        without_second_factor=without.count(),
        staff_without_second_factor=list(without.filter(is_staff=True)[:MOST_SHOWN]),
        deploys=_tell(_DEPLOYS, known),
        failures=_tell(_FAILURES, known),
        unfinished=find_unfinished(),
    )


def _tell(chosen: Q, known: Sequence[Known]) -> list[Told]:
    """The latest of these events. None is looked for that is older than a week."""
    names = {each.project.pk: each.project.name for each in known}
    events = Event.objects.filter(chosen, at__gt=clock.now() - LATEST_WITHIN)[:LATEST]
    return [
        Told(
            event.at,
            event.project_id,
            names.get(event.project_id, ""),
            tell_event(event.action, event.outcome, event.detail),
            event.actor,
        )
        for event in events
    ]


def know_all(projects: "QuerySet[Project]") -> list[Known]:
    """Each with its status and reason, in one query. What nobody has looked at lately is unknown."""
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
    """The statuses that there are, the most urgent first."""
    numbers = Counter(each.status for each in known)
    return [Count(each, numbers[each]) for each in sorted(numbers, key=lambda each: ORDER.index(TRAITS[each].look))]


def _find_told() -> list[str]:
    """The staff who are told when something of the service itself is wrong."""
    chosen = AlertChannel.objects.filter(service=True, user__is_active=True, user__is_staff=True)
    return list(chosen.order_by("user__email").values_list("user__email", flat=True).distinct()[:MOST_SHOWN])


def _measure_use() -> InUse:
    minutes = Sample.objects.filter(minutes=MINUTE, at__gt=clock.now() - MEASURED_WITHIN)
    latest = minutes.aggregate(at=Max("at"))["at"]
    used = minutes.filter(at=latest).aggregate(cpu=Sum("cpu"), memory=Sum("memory"))
    return InUse(cpu=None if used["cpu"] is None else used["cpu"] / 10_000, memory=used["memory"])


def _measure_disk() -> Any:
    """The file system of the data directory: total, used and free bytes. None where it cannot be asked."""
    try:
        return shutil.disk_usage(settings.BERTH_DATA_DIR)
    except OSError:
        return None
