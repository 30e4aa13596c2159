"""Changes to a project. They reach the container at its next start."""

from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from projects.credentials.verification import CredentialCheck
from projects.models import Actor, Event, Plan, Project
from projects.rules.lifecycle import Desired
from projects.services.creation import bot_in_use, check_plan_limit
from projects.services.operations import operation_in_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange:
    """What to change; None leaves a field as it is. `check` comes with new credentials."""

    name: str | None = None
    plan: Plan | None = None
    settings: dict[str, Any] | None = None
    telegram_token: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    check: CredentialCheck | None = None


@sensitive_variables("change")
def update_project(*, project: Project, change: ProjectChange, actor: Actor) -> Project:
    """Write the change. Raises `PlanLimitReachedError`, `BotInUseError`, and `OperationInProgressError` for a project
    that is being deleted.
    """
    values = _new_values(project, change)
    try:
        with transaction.atomic():
            if change.plan is not None and change.plan != project.plan:
                check_plan_limit(owner=project.owner, plan=change.plan)
            rows = Project.objects.filter(pk=project.pk).exclude(desired=Desired.DELETED)
            if not rows.update(**values, updated_at=timezone.now()):
                raise operation_in_progress(project)
            Event.objects.bulk_create(_events(project, change, values, actor))
    except IntegrityError:
        if change.telegram_token is None:
            raise
        raise bot_in_use() from None
    project.refresh_from_db()
    return project


def _events(project: Project, change: ProjectChange, values: dict[str, Any], actor: Actor) -> list[Event]:
    names = sorted(name.removesuffix("_ciphertext") for name in values if not name.endswith("_hint"))
    done = [project.event(actor, "update", "done", detail=f"changed: {', '.join(names)}")] if names else []
    warnings = change.check.warnings if change.check else ()
    return done + [project.event(actor, "update", "warning", detail=warning) for warning in warnings]


@sensitive_variables("change")
def _new_values(project: Project, change: ProjectChange) -> dict[str, Any]:
    values: dict[str, Any] = {
        field: value
        for field, value in (("name", change.name), ("plan", change.plan), ("settings", change.settings))
        if value is not None
    }
    if change.check is not None:
        values["provider"] = change.check.provider
    if change.telegram_token is not None and change.check is not None:
        values |= {"bot_id": change.check.bot_id, "bot_username": change.check.bot_username}
    sealed = project.encrypt_credentials(telegram_token=change.telegram_token, api_key=change.api_key)
    return values | {field: getattr(project, field) for field in sealed}
