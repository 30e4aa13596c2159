"""Changes projects. Changes reach the container at its next start."""

from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from projects.credentials.verification import CredentialCheck, parse_bot_id
from projects.errors import InvalidFieldError, ProjectSuspendedError
from projects.models import Actor, Event, Plan, Project
from projects.models.columns.gateway import NEXT_VERSION
from projects.rules.budget import LIMITS, ceiling_of
from projects.rules.disk import DISK_FULL
from projects.rules.settings.merge_patch import merge_patch
from projects.rules.status.lifecycle import Desired
from projects.services.bulkheads import takes_place
from projects.services.commands.admission import (
    check_bot,
    check_choices,
    check_own_bots,
    check_plan_limit,
    claim_bot,
    lock_owner,
    lock_provider,
)
from projects.services.commands.change_events import make_change_events
from projects.services.commands.new_credentials import try_again
from projects.services.credentials.provider_choice import keeps_provider, verify_change
from projects.services.credentials.server_credentials import keep_credentials
from projects.services.gateway.synchronization import notify_gateway
from projects.services.limits.budgets import check_budget, settle_budget
from projects.services.limits.capacity import learn_host_memory, reserve_for_change
from projects.services.limits.disk import let_run
from projects.services.limits.permissions import check_egress, check_model
from projects.services.operations import operation_in_progress

READ = ("settings", "api_key_ciphertext", "server_credentials_ciphertext", "plan_id")
"""The columns on which the new settings and provider, the limit of the plan and that of the budget depend."""

Values = dict[str, Any]

ATTEMPTS = 5
"""How often a change is tried again because of a concurrent change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange:
    """A change whose shape is valid. None leaves a field unchanged.

    `settings_patch` is a JSON Merge Patch (RFC 7396), checked against the settings at the time of the request.
    """

    name: str | None = None
    plan: Plan | None = None
    settings_patch: dict[str, Any] | None = field(default=None, repr=False)
    telegram_token: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    budget: dict[str, Any] | None = None
    egress: str | None = None

    @property
    def reaches_gateway(self) -> bool:
        """Whether the gateway must know the change, and not only the agent's next start."""
        given = (self.plan, self.settings_patch, self.telegram_token, self.api_key, self.budget)
        return any(each is not None for each in given)


@takes_place
@sensitive_variables("change")
def update_project(*, project: Project, change: ProjectChange, actor: Actor) -> Project:
    """Writes the change and returns the project.

    Raises `NoPlaceError`, `PlanLimitReachedError`, `NoCapacityError`, `BotInUseError`, `InvalidFieldError`,
    `SecretUnreadableError`, `ProjectSuspendedError`, and `OperationInProgressError` for a project that is being
    deleted.
    """
    for _ in range(ATTEMPTS):
        check_may_be_changed(project)
        read = tuple(getattr(project, name) for name in READ)
        check = _look_then_ask(project, change)
        if _write(project, _new_values(project, change, check), check, actor, change, read):
            project.reread()
            if project.failure_code == DISK_FULL:
                let_run(project)
            if change.plan is not None or change.budget is not None:
                settle_budget(project)
            new = {"with_token": change.telegram_token is not None, "with_key": change.api_key is not None}
            try_again(project, **new, actor=actor)
            if change.reaches_gateway:
                notify_gateway(project)
            return project
        project.refresh_from_db()
        _check_merged(project, change)
    raise operation_in_progress(project)


@sensitive_variables("values", "change")
def _write(
    project: Project, values: Values, check: CredentialCheck | None, actor: Actor, change: ProjectChange, read: object
) -> bool:
    """Writes the change. Writes nothing and returns False if the settings, key or plan have changed since `read`.

    Otherwise the merged settings would undo that change, a provider could get a key that it was not asked about, and a
    plan could get more projects than it allows.
    """
    try:
        with transaction.atomic():
            lock_provider(values.get("provider", ""))
            if (plan := values.get("plan", project.plan)) != project.plan:
                lock_owner(project.owner)
                check_plan_limit(owner=project.owner, plan=plan)
                values |= reserve_for_change(project_id=project.pk, plan=plan)
            rows = Project.objects.filter(pk=project.pk, suspended_at=None).exclude(desired=Desired.DELETED)
            stored = rows.select_for_update().values_list(*READ).first()
            if stored not in (None, read):
                return False
            if check is not None:
                claim_bot(owner=project.owner, check=check, project_id=project.pk)
            own = {name: values.get(f"own_{name}") for name in LIMITS}
            _check_permissions(project, change, chosen=values.get("settings", project.settings), plan=plan)
            check_budget(own, ceiling=ceiling_of(plan.budget, project.granted_budget))
            if not rows.update(**values, **(NEXT_VERSION if change.reaches_gateway else {}), updated_at=clock.now()):
                project.refresh_from_db()
                check_may_be_changed(project)
                raise operation_in_progress(project)
            Event.objects.bulk_create(make_change_events(project, check, values, actor))
    except IntegrityError:
        check_choices(plan=plan)
        if check is not None:
            check_bot(owner=project.owner, check=check, project_id=project.pk)
        raise
    return True


def _check_permissions(project: Project, change: ProjectChange, *, chosen: dict[str, Any], plan: Plan) -> None:
    """Raises `InvalidFieldError`. A model that staff have forbidden since does not prevent other changes."""
    check_egress(change.egress, least=project.least_egress)
    if plan != project.plan or "model" in (change.settings_patch or {}):
        check_model(chosen, agent_type=project.agent_type, plan=plan)


def _check_merged(project: Project, change: ProjectChange) -> None:
    """Raises `InvalidFieldError` if the patch does not fit the settings after a concurrent change."""
    merged = merge_patch(project.settings, change.settings_patch or {})
    if not project.agent_type.takes_settings(merged):
        raise InvalidFieldError(
            "The settings were changed meanwhile, and this does not fit them. Look at them again.",
            field="settings",
            code="changed_meanwhile",
        )


def check_may_be_changed(project: Project) -> None:
    """Raises `ProjectSuspendedError` if the project may not be changed."""
    if project.is_suspended:
        raise ProjectSuspendedError(
            f"“{project.name}” is suspended and stays as it is until the staff lift the suspension. Ask them."
        )


@sensitive_variables()
def _look_then_ask(project: Project, change: ProjectChange) -> CredentialCheck | None:
    """Makes all checks that need no outside server, then asks Telegram and the provider about new credentials."""
    if change.plan is not None and change.plan != project.plan:
        check_plan_limit(owner=project.owner, plan=change.plan)
        learn_host_memory()
    token, key = change.telegram_token, change.api_key
    if token:
        check_own_bots(owner=project.owner, bot_id=parse_bot_id(token), project_id=project.pk)
    return verify_change(project, telegram_token=token or "", api_key=key, chosen=_choose_provider(project, change))


def _choose_provider(project: Project, change: ProjectChange) -> str:
    return str(merge_patch(project.settings, change.settings_patch or {}).get("provider", ""))


@sensitive_variables("change")
def _new_values(project: Project, change: ProjectChange, check: CredentialCheck | None) -> Values:
    values: Values = {
        field: value for field, value in (("name", change.name), ("plan", change.plan)) if value is not None
    }
    if change.settings_patch is not None:
        values |= keep_credentials(project, merge_patch(project.settings, change.settings_patch))
    if check is not None:
        if not keeps_provider(project, api_key=change.api_key, chosen=_choose_provider(project, change)):
            values["provider"] = check.provider
        if change.telegram_token is not None:
            values |= {"bot_id": check.bot_id, "bot_username": check.bot_username}
            values["bot_unconfirmed_at"] = check.unconfirmed_at
    values |= {f"own_{name}": limit for name, limit in (change.budget or {}).items()}
    values |= {} if change.egress is None else {"own_egress": change.egress}
    if change.telegram_token is not None or change.api_key is not None:
        changed = {"has_new_token": change.telegram_token is not None, "has_new_key": change.api_key is not None}
        values |= {"sees_from": clock.now(), **project.still_seen(**changed)}
    # A sent credential always counts as new, so that the event does not reveal whether it is the stored one.
    encrypted = project.encrypt_credentials(telegram_token=change.telegram_token, api_key=change.api_key)
    return values | {column: getattr(project, column) for column in encrypted}
