"""A project: what its owner wants, the operation in flight, and what the engine was last seen to have."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.conf import settings as django_settings
from django.db import models
from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from containers.engine import ContainerState, Health, Observation
from projects.credentials import Bot, describe_bot
from projects.errors import ProjectGoneError
from projects.lifecycle import Desired, Facts, Operation, Status, derive_status
from projects.models.catalogue import AgentType, Plan
from projects.models.watch import Watch
from projects.reasons import Reason, StatusReason, explain
from projects.secrets import decrypt_secret, encrypt_secret, hint_of

TELEGRAM_TOKEN = "telegram_token"  # noqa: S105 - the name of a field
API_KEY = "api_key"


class ProjectQuerySet(models.QuerySet["Project"]):
    def owned_by(self, owner: Any) -> Self:
        return self.filter(owner=owner)

    def live(self) -> Self:
        """Those that count: towards the plan's limit, and as users of their bot."""
        return self.exclude(desired=Desired.DELETED)

    def with_heartbeat(self) -> Self:
        watch = Watch.objects.filter(instance=OuterRef("instance")).values("heartbeat_at")
        return self.annotate(heartbeat_at=Subquery(watch))


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(django_settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="projects")
    instance = models.CharField(max_length=20, editable=False)
    name = models.CharField(max_length=64)
    agent_type = models.ForeignKey(AgentType, on_delete=models.PROTECT, related_name="projects")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="projects")
    settings = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    telegram_token_ciphertext = models.TextField(blank=True, editable=False)
    telegram_token_hint = models.CharField(max_length=4, blank=True, editable=False)
    api_key_ciphertext = models.TextField(blank=True, editable=False)
    api_key_hint = models.CharField(max_length=4, blank=True, editable=False)
    bot_id = models.BigIntegerField(null=True, editable=False)
    bot_username = models.CharField(max_length=64, blank=True, editable=False)
    provider = models.CharField(max_length=20, blank=True, editable=False)

    # What is wanted.
    desired = models.CharField(max_length=10, choices=Desired, default=Desired.RUNNING, editable=False)
    suspended_at = models.DateTimeField(null=True, editable=False)
    generation = models.PositiveIntegerField(default=1, editable=False)

    # The operation in flight: whoever holds the id may write; past the deadline anybody may take over.
    operation = models.CharField(max_length=10, choices=Operation, blank=True, editable=False)
    operation_id = models.UUIDField(null=True, editable=False)
    operation_deadline = models.DateTimeField(null=True, editable=False)

    # The last observation; an empty state means that the engine has no container.
    observed_at = models.DateTimeField(null=True, editable=False)
    container_id = models.CharField(max_length=64, blank=True, editable=False)
    container_state = models.CharField(max_length=12, blank=True, editable=False)
    health = models.CharField(max_length=10, default=Health.NONE, editable=False)
    exit_code = models.IntegerField(null=True, editable=False)
    oom_killed = models.BooleanField(default=False, editable=False)
    restarts = models.PositiveIntegerField(default=0, editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    agent_state = models.CharField(max_length=20, blank=True, editable=False)
    agent_code = models.CharField(max_length=40, blank=True, editable=False)

    # What went wrong.
    failure_code = models.CharField(max_length=40, blank=True, editable=False)
    failed_at = models.DateTimeField(null=True, editable=False)
    recreated_at = models.DateTimeField(null=True, editable=False)
    gave_up_at = models.DateTimeField(null=True, editable=False)
    crash_count = models.PositiveIntegerField(default=0, editable=False)
    crashes_since = models.DateTimeField(null=True, editable=False)
    log_tail = models.TextField(blank=True, editable=False)
    noticed_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[models.Manager["Project"]] = ProjectQuerySet.as_manager()

    heartbeat_at: datetime | None = None
    """The watcher's heartbeat, where the query asked for it (`with_heartbeat`)."""

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["owner", "-created_at", "-id"], name="project_by_owner"),
            models.Index(fields=["operation_deadline"], name="project_by_deadline"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["bot_id"], condition=~Q(desired=Desired.DELETED), name="one_live_project_per_bot"
            ),
            models.CheckConstraint(condition=Q(desired__in=Desired.values), name="project_desired_is_known"),
            models.CheckConstraint(
                condition=Q(operation=Operation.NONE, operation_id=None, operation_deadline=None)
                | Q(
                    operation__in=[value for value in Operation.values if value],
                    operation_id__isnull=False,
                    operation_deadline__isnull=False,
                ),
                name="project_operation_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def container_name(self) -> str:
        return f"{self.instance}-{self.id}"

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None or not self.owner.is_active

    @property
    def checked_at(self) -> datetime | None:
        """The last moment at which what the row says was true of the engine.

        The watcher leaves rows alone that an operation holds. Its heartbeat therefore says nothing of such a row, nor
        of one whose operation has ended since: that may have changed the engine and not have seen what came of it.
        """
        beat = self.heartbeat_at
        if beat is not None and (self.operation or beat < self.updated_at):
            beat = None
        return max((at for at in (self.observed_at, beat) if at), default=None)

    def operation_in_flight(self, now: datetime) -> Operation:
        if self.operation_deadline is None or self.operation_deadline <= now:
            return Operation.NONE
        return Operation(self.operation)

    def facts(self, now: datetime | None = None) -> Facts:
        now = now or timezone.now()
        return Facts(
            now=now,
            desired=Desired(self.desired),
            suspended=self.is_suspended,
            operation=self.operation_in_flight(now),
            checked_at=self.checked_at,
            state=ContainerState(self.container_state) if self.container_state else None,
            health=Health(self.health),
            exit_code=self.exit_code,
            started_at=self.started_at,
            agent_state=self.agent_state,
            gave_up=self.gave_up_at is not None,
            failed=bool(self.failure_code),
        )

    @property
    def status(self) -> Status:
        return derive_status(self.facts())

    @property
    def last_known_status(self) -> Status:
        """The status as of `checked_at`, which is what there is to say while the engine is silent."""
        return derive_status(self.facts(self.checked_at))

    @property
    def bot(self) -> Bot | None:
        return describe_bot(self.bot_id, self.bot_username)

    @property
    def status_reason(self) -> StatusReason | None:
        reason = self.reason
        if reason is None:
            return None
        return StatusReason(
            code=reason.code,
            message=reason.message,
            exit_code=self.exit_code,
            oom_killed=self.oom_killed,
            at=self.failed_at or self.finished_at,
            log_tail=self.log_tail.splitlines(),
        )

    @property
    def reason(self) -> Reason | None:
        facts = self.facts()
        return explain(
            derive_status(facts),
            facts,
            failure_code=self.failure_code,
            agent_code=self.agent_code,
            oom_killed=self.oom_killed,
            crash_count=self.crash_count,
        )

    def apply_observation(self, observation: Observation | None, *, at: datetime) -> list[str]:
        """Take over what the engine said at `at`; None is its word that there is no container. Returns the fields."""
        values = self.observed_values(observation)
        values["observed_at"] = at
        for field, value in values.items():
            setattr(self, field, value)
        return list(values)

    def observed_values(self, seen: Observation | None) -> dict[str, Any]:
        """The fields that an observation sets, and their values."""
        if seen is None:
            return {"container_state": "", "container_id": "", "health": Health.NONE}
        values: dict[str, Any] = {
            "container_state": seen.state,
            "container_id": seen.container_id,
            "health": seen.health,
            "exit_code": seen.exit_code,
        }
        # The engine's list leaves these out for a container that is plainly well; the last ones still hold then,
        # unless it is another container.
        same = seen.container_id == self.container_id
        for field, value, unknown in (
            ("oom_killed", seen.oom_killed, False),
            ("restarts", seen.restart_count, 0),
            ("started_at", seen.started_at, None),
            ("finished_at", seen.finished_at, None),
        ):
            if value is not None or not same:
                values[field] = unknown if value is None else value
        return values | self._reported_values(seen, same=same)

    @staticmethod
    def _reported_values(seen: Observation, *, same: bool) -> dict[str, str]:
        if seen.report is not None:
            return {"agent_state": seen.report.state[:20], "agent_code": seen.report.code[:40]}
        if seen.health == Health.HEALTHY:  # which by the agent contract only a running agent is
            return {"agent_state": "running", "agent_code": ""}
        return {} if same else {"agent_state": "", "agent_code": ""}

    @sensitive_variables("telegram_token", "api_key")
    def seal_credentials(self, *, telegram_token: str | None = None, api_key: str | None = None) -> list[str]:
        """Encrypt the credentials that are given. Returns the names of the fields to save."""
        changed = []
        for field, value in ((TELEGRAM_TOKEN, telegram_token), (API_KEY, api_key)):
            if value is not None:
                sealed = encrypt_secret(project_id=self.id, field=field, value=value) if value else ""
                setattr(self, f"{field}_ciphertext", sealed)
                setattr(self, f"{field}_hint", hint_of(value))
                changed += [f"{field}_ciphertext", f"{field}_hint"]
        return changed

    def open_credential(self, field: str) -> str:
        """The plaintext of `TELEGRAM_TOKEN` or `API_KEY`; empty where none is stored."""
        ciphertext = getattr(self, f"{field}_ciphertext")
        return decrypt_secret(project_id=self.id, field=field, ciphertext=ciphertext) if ciphertext else ""

    def refresh_from_db(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().refresh_from_db(*args, **kwargs)
        except Project.DoesNotExist:
            raise ProjectGoneError from None

    # -- claim, act, record -------------------------------------------------------------------------------------------

    def claim(
        self,
        operation: Operation,
        *,
        lasting: timedelta,
        preempting: frozenset[Operation] = frozenset(),
        unchanged: bool = False,
        **wants: Any,
    ) -> "Claim | None":
        """Take the project for an operation by one conditional UPDATE; None where somebody else holds it.

        `wants` are further fields to set in the same statement. With `unchanged` it is also None where another
        operation has begun since this object was read: what was decided on that ground may be wrong by now. A new
        generation begins with each claim, so that what an earlier operation still does on the engine can be told from
        what this one does. Raises `ProjectGoneError`.
        """
        now = timezone.now()
        claim_id = uuid.uuid4()
        values = {
            "operation": operation,
            "operation_id": claim_id,
            "operation_deadline": now + lasting,
            "generation": F("generation") + 1,
            "updated_at": now,
            **wants,
        }
        rows = Project.objects.filter(pk=self.pk)
        if operation != Operation.DELETE:
            rows = rows.exclude(desired=Desired.DELETED)
        if unchanged:
            rows = rows.filter(generation=self.generation)
        contested = _seize(rows, values, over=Q(operation_deadline__lte=now) | Q(operation__in=preempting))
        if contested is None:
            return None
        self.refresh_from_db(from_queryset=Project.objects.select_related("owner", "plan", "agent_type"))
        if self.operation_id != claim_id:
            return None  # taken away again at once
        return Claim(id=claim_id, generation=self.generation, contested=contested)

    def holds(self, claim: "Claim") -> bool:
        return Project.objects.filter(pk=self.pk, operation_id=claim.id).exists()

    def record(self, claim: "Claim", *, fields: Iterable[str] = (), **values: Any) -> bool:
        """End the operation and write what came of it; False, and nothing written, where it was lost to another."""
        written = {field: getattr(self, field) for field in fields} | values | _at_rest()
        if not Project.objects.filter(pk=self.pk, operation_id=claim.id).update(**written):
            return False
        for field, value in written.items():
            setattr(self, field, value)
        return True

    def release_expired(self) -> bool:
        """End an operation whose time is over. Whoever still carries it out holds nothing any more."""
        written = _at_rest()
        rows = Project.objects.filter(
            pk=self.pk, operation_id=self.operation_id, operation_deadline__lte=timezone.now()
        )
        if not rows.update(**written):
            return False
        for field, value in written.items():
            setattr(self, field, value)
        return True


def _seize(rows: "models.QuerySet[Project]", values: dict[str, Any], *, over: Q) -> bool | None:
    """Write the claim into a row at rest (False) or over an operation that gives way (True); None where none does."""
    free = Q(operation=Operation.NONE)
    giving_way = ~free & over
    while True:
        if rows.filter(free).update(**values):
            return False
        if rows.filter(giving_way).update(**values):
            return True
        # Between the two statements the other operation may have ended, which is no reason to give up.
        if not rows.filter(free | giving_way).exists():
            return None


def _at_rest() -> dict[str, Any]:
    """No operation, as of now."""
    return {
        "operation": Operation.NONE,
        "operation_id": None,
        "operation_deadline": None,
        "updated_at": timezone.now(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on a project. `contested` where another operation was under way, and may still act."""

    id: uuid.UUID
    generation: int
    contested: bool
