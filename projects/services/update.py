"""Changes to a project. They reach the container at its next start."""

from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from projects.credentials.verification import CredentialCheck, parse_bot_id, verify_credentials
from projects.errors import ProjectSuspendedError
from projects.models import Actor, Event, Plan, Project
from projects.models.project import API_KEY
from projects.rules.lifecycle import Desired
from projects.services.admission import check_bot, check_own_bots, check_plan_limit, lock_owner
from projects.services.operations import operation_in_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange:
    """What to change, checked for its shape; None leaves a field as it is."""

    name: str | None = None
    plan: Plan | None = None
    settings: dict[str, Any] | None = None
    telegram_token: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)


@sensitive_variables("change")
def update_project(*, project: Project, change: ProjectChange, actor: Actor) -> Project:
    """Writes the change and returns the project.

    Raises `PlanLimitReachedError`, `BotInUseError`, `InvalidFieldError`, `SecretUnreadableError`,
    `ProjectSuspendedError`, and `OperationInProgressError` for a project that is being deleted.
    """
    _check_not_suspended(project)
    check = _look_then_ask(project, change)
    values = _new_values(project, change, check)
    try:
        with transaction.atomic():
            if change.plan is not None and change.plan != project.plan:
                lock_owner(project.owner)
                check_plan_limit(owner=project.owner, plan=change.plan)
            rows = Project.objects.filter(pk=project.pk, suspended_at=None).exclude(desired=Desired.DELETED)
            if not rows.update(**values, updated_at=timezone.now()):
                project.refresh_from_db()
                _check_not_suspended(project)
                raise operation_in_progress(project)
            Event.objects.bulk_create(_events(project, check, values, actor))
    except IntegrityError:
        if check is not None:
            check_bot(owner=project.owner, check=check, project_id=project.pk)
        raise
    project.refresh_from_db()
    return project


def _check_not_suspended(project: Project) -> None:
    """Raises `ProjectSuspendedError`."""
    if project.is_suspended:
        raise ProjectSuspendedError(
            f"“{project.name}” is suspended and stays as it is until the staff lift the suspension. Ask them."
        )


@sensitive_variables()
def _look_then_ask(project: Project, change: ProjectChange) -> CredentialCheck | None:
    """Asks Telegram and the provider about what is new, once nothing that is known here stands in the way."""
    if change.plan is not None and change.plan != project.plan:
        check_plan_limit(owner=project.owner, plan=change.plan)
    token, key = change.telegram_token, change.api_key
    if token:
        check_own_bots(owner=project.owner, bot_id=parse_bot_id(token), project_id=project.pk)
    if not (token or key or change.settings is not None):
        return None
    settings = project.settings if change.settings is None else change.settings
    provider = str(settings.get("provider", ""))
    return verify_credentials(
        telegram_token=token or "",
        api_key=key or project.decrypt_credential(API_KEY),
        provider=provider,
        # The stored key is asked about again only for another provider, which may not know it.
        ask_provider=key is not None or provider not in {"", project.provider},
    )


def _events(project: Project, check: CredentialCheck | None, values: dict[str, Any], actor: Actor) -> list[Event]:
    names = sorted(name.removesuffix("_ciphertext") for name in values if not name.endswith("_hint"))
    done = [project.event(actor, "update", "done", detail=f"changed: {', '.join(names)}")] if names else []
    warnings = check.warnings if check else ()
    return done + [project.event(actor, "update", "warning", detail=warning) for warning in warnings]


@sensitive_variables("change")
def _new_values(project: Project, change: ProjectChange, check: CredentialCheck | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        field: value
        for field, value in (("name", change.name), ("plan", change.plan), ("settings", change.settings))
        if value is not None
    }
    if check is not None:
        values["provider"] = check.provider
        if change.telegram_token is not None:
            values |= {"bot_id": check.bot_id, "bot_username": check.bot_username}
    encrypted = project.encrypt_credentials(telegram_token=change.telegram_token, api_key=change.api_key)
    return values | {field: getattr(project, field) for field in encrypted}
