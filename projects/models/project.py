"""A project: what its owner wants, the operation in flight, and the last observation of its container."""

import uuid
from datetime import datetime
from typing import Any, ClassVar, Self

from django.conf import settings as django_settings
from django.db import models
from django.db.models import Case, OuterRef, Q, Subquery, When
from django.utils import timezone

from accounts import clock
from accounts.text import check_hides_nothing
from containers.identity import container_name
from containers.vocabulary import Observation
from projects.models.agent_user import RunsAsUser
from projects.models.catalogue import AgentType, Plan
from projects.models.columns.credentials import Credentialed
from projects.models.columns.disk_use import Measured
from projects.models.columns.facts import RowFacts
from projects.models.columns.gateway import BehindGateway
from projects.models.columns.image_update import RunsImage
from projects.models.columns.indexes import INDEXES
from projects.models.columns.last_run import Ended
from projects.models.columns.observation import Observed
from projects.models.columns.pairing import PairsPeople
from projects.models.columns.reconciliation import Reconciled
from projects.models.columns.reserved_memory import HOLDS_MEMORY, ReservesMemory
from projects.models.event import Actor, Event
from projects.models.operation import Claimable, operation_is_whole
from projects.models.processes.watcher import Watch
from projects.rules.disk import DISK_FULL
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Desired, Facts
from projects.rules.status.reasons import Reason, explain

ENDING = ("exit_code", "oom_killed", "finished_at", "agent_state", "agent_code")
"""The observed fields that say how a run ended."""


def _of_its_watch(field: str, **only: bool) -> Case:
    """Returns a column of the watch of a project's instance. Reads our own watch once for all rows, others per row.

    It is null if the watch has other values than `only`.
    """
    mine = django_settings.BERTH_INSTANCE
    own, others = (Watch.objects.filter(instance=whose, **only) for whose in (mine, OuterRef("instance")))
    return Case(When(instance=mine, then=Subquery(own.values(field))), default=Subquery(others.values(field)))


class ProjectQuerySet(models.QuerySet["Project"]):
    def owned_by(self, owner: Any) -> Self:
        return self.filter(owner=owner)

    def live(self) -> Self:
        """Returns projects that are not being deleted. Only these count towards a plan's limit and occupy their bot."""
        return self.exclude(desired=Desired.DELETED)

    def holding_memory(self) -> Self:
        """Returns projects of this instance that should run or still run. Each holds its reserved memory."""
        return self.filter(HOLDS_MEMORY, instance=django_settings.BERTH_INSTANCE)

    def with_heartbeat(self) -> Self:
        watched_until = _of_its_watch("lease_until", holds_repairs=False)
        return self.annotate(heartbeat_at=_of_its_watch("heartbeat_at"), watched_until=watched_until)


class Project(
    Claimable,
    Credentialed,
    Observed,
    Ended,
    Reconciled,
    RunsAsUser,
    Measured,
    ReservesMemory,
    BehindGateway,
    PairsPeople,
    RunsImage,
    RowFacts,
):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(django_settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="projects")
    instance = models.CharField(max_length=20, editable=False)
    name = models.CharField(max_length=64, validators=[check_hides_nothing])
    agent_type = models.ForeignKey(AgentType, on_delete=models.PROTECT, related_name="projects", db_index=False)
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="projects", db_index=False)
    settings = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    bot_id = models.BigIntegerField(null=True, editable=False)
    bot_unconfirmed_at = models.DateTimeField(null=True, editable=False)
    """When Telegram was last asked about the token but did not answer. None if it did or need not be asked."""
    bot_username = models.CharField(max_length=64, blank=True, editable=False)
    provider = models.CharField(max_length=20, blank=True, editable=False)

    # Failures and crashes.
    failure_code = models.CharField(max_length=40, blank=True, editable=False)
    failed_at = models.DateTimeField(null=True, editable=False)
    recreated_at = models.DateTimeField(null=True, editable=False)
    gave_up_at = models.DateTimeField(null=True, editable=False)
    crash_count = models.PositiveIntegerField(default=0, editable=False)
    crashes_since = models.DateTimeField(null=True, editable=False)
    log_tail = models.TextField(blank=True, editable=False)
    noticed_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[models.Manager["Project"]] = ProjectQuerySet.as_manager()

    watched_until: datetime | None = None
    """When the lease of the present watcher ends, unless it holds repairs, if the query asked (`with_heartbeat`)."""
    heartbeat_at: datetime | None = None
    """The watcher's heartbeat, if the query asked for it."""

    class Meta(Claimable.Meta, Observed.Meta, Ended.Meta, Reconciled.Meta, RunsAsUser.Meta, Measured.Meta):
        abstract = False
        ordering = ["-created_at", "-id"]
        indexes = INDEXES
        constraints = [
            models.UniqueConstraint(
                fields=["bot_id"],
                condition=~Q(desired=Desired.DELETED) & Q(bot_unconfirmed_at=None),
                name="one_confirmed_project_per_bot",
            ),
            models.UniqueConstraint(fields=["uid"], name="one_project_per_uid"),
            models.UniqueConstraint(fields=["address"], name="one_project_per_address"),
            models.CheckConstraint(condition=Q(desired__in=Desired.values), name="project_desired_is_known"),
            operation_is_whole("project_operation_is_whole"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def container_key(self) -> str:
        """The value of the label by which the container and the volumes are found on the engine."""
        return str(self.id)

    @property
    def container_name(self) -> str:
        """The name that the next deploy gives the container. Until then, one of an older version keeps its own."""
        return container_name(self.container_key)

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None or not self.owner.is_active

    @property
    def awaits_container(self) -> bool:
        """Whether its agent should run, and nothing that needs the owner or staff keeps it down."""
        facts = self.facts()
        return facts.desired == Desired.RUNNING and not (facts.suspended or facts.gave_up or facts.failed)

    def observed_values(self, seen: Observation | None) -> dict[str, Any]:
        """Returns the fields like `Observed`, and the image of a container that the last start has created.

        Keeps how the last run ended once restarts are given up. The engine may have started the agent once more before
        Berth stopped it. Berth caused the end of that run, so it does not explain why the agent crashed.
        """
        values = super().observed_values(seen)
        if seen is not None and seen.image_id and seen.generation == self.generation:
            values["image_id"] = seen.image_id  # not recorded if the process was killed
        if self.gave_up_at is None or seen is None or seen.container_id != self.container_id or seen.is_up:
            return values
        if self.ended_at is not None or self.exit_code is not None:
            for field in ENDING:
                values.pop(field, None)
        return values | (self.last_end() if self.ended_at is not None else {})

    @property
    def reason(self) -> Reason | None:
        return self.explain(self.facts())

    def explain(self, facts: Facts) -> Reason | None:
        """Returns the reason for the status by these facts, or None if there is nothing to explain."""
        return explain(
            derive_status(facts),
            facts,
            failure_code=self.failure_code,
            agent_code=self.agent_code,
            oom_killed=self.oom_killed,
            crash_count=self.crash_count,
            disk=self.disk_share.describe() if self.failure_code == DISK_FULL else "",
            suspended_because=self.suspended_because,
        )

    def event(self, actor: Actor, action: str, outcome: str, *, detail: str = "") -> Event:
        """Returns an unsaved event of this project. Save it together with the outcome that it reports."""
        return Event(
            project_id=self.pk,
            at=clock.now(),
            owner_id=self.owner_id,
            actor=actor.label,
            source=actor.source[:100],
            address=actor.address,
            action=action,
            outcome=outcome,
            detail=detail[:300],
        )
