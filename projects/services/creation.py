"""A new project, from the request to a running container."""

import logging
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from containers.engine import EngineError, ImageMissingError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.credentials.verification import CredentialCheck
from projects.errors import BotInUseError, OperationLostError, PlanLimitReachedError, ProjectGoneError
from projects.models import Actor, AgentType, Event, Plan, Project
from projects.models.operation import Claim
from projects.rules.lifecycle import Desired, Operation
from projects.services.deletion import claim_deletion, finish_deletion, remove_container
from projects.services.operations import bring_up, command_deadline, failure_code, record_outcome, time_allowed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProject:
    """What an owner asks for, checked for shape and, in `check`, with Telegram and the provider."""

    project_id: UUID = field(default_factory=uuid4)
    name: str
    agent_type: AgentType
    plan: Plan
    settings: dict[str, Any] = field(default_factory=dict)
    telegram_token: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    check: CredentialCheck


@sensitive_variables("wanted")
def create_project(*, owner: User, wanted: NewProject, actor: Actor) -> Project:
    """Deploys a project and returns it. Where it raises, nothing of the project is left.

    Raises `PlanLimitReachedError`, `BotInUseError`, `OperationLostError` and `EngineError`.
    """
    with command_deadline(wanted.agent_type):
        check_engine(wanted.agent_type)
        project, claim = _insert_claimed(owner=owner, wanted=wanted)
        try:
            outcome = bring_up(project, claim, desired_if_silent=Desired.DELETED)
            events = _deploy_events(project, actor, wanted.check, outcome.error)
            record_outcome(project, claim, outcome, events=events)
        except OperationLostError as error:
            _check_it_still_exists(project, error)
            Event.objects.bulk_create(_deploy_events(project, actor, wanted.check))
            return project
        if outcome.error is not None:
            _clean_up(project)
            raise outcome.error
    return project


def _deploy_events(
    project: Project, actor: Actor, check: CredentialCheck, error: EngineError | SecretUnreadableError | None = None
) -> list[Event]:
    if error is not None:
        code = failure_code(error) if isinstance(error, EngineError) else "secret_unreadable"
        return [project.event(actor, "deploy", code)]
    warnings = [project.event(actor, "deploy", "warning", detail=warning) for warning in check.warnings]
    return [project.event(actor, "deploy", "done"), *warnings]


def check_creation(*, owner: User, wanted: NewProject) -> None:
    """What would stand in the way of `create_project` now is raised; nothing is made."""
    check_engine(wanted.agent_type)
    with transaction.atomic():
        check_plan_limit(owner=owner, plan=wanted.plan)
    if _is_bot_in_use(wanted):
        raise bot_in_use()


def _is_bot_in_use(wanted: NewProject) -> bool:
    bot = wanted.check.bot_id
    return bot is not None and Project.objects.live().filter(bot_id=bot).exists()


def check_engine(agent_type: AgentType) -> None:
    """Find out before anything is recorded whether a deploy can start at all. Raises `EngineError`."""
    if not get_engine().image_exists(agent_type.image):
        raise ImageMissingError(
            f"The image of agent type {agent_type.slug} is not on the engine. Ask the staff to build it."
        )


@sensitive_variables("wanted")
def _insert_claimed(*, owner: User, wanted: NewProject) -> tuple[Project, Claim]:
    """Inserts the row, already claimed by the deploy."""
    claim = Claim(id=uuid4(), generation=1, contested=False)
    project = Project(
        id=wanted.project_id,
        owner=owner,
        instance=settings.BERTH_INSTANCE,
        name=wanted.name,
        agent_type=wanted.agent_type,
        plan=wanted.plan,
        settings=wanted.settings,
        bot_id=wanted.check.bot_id,
        bot_username=wanted.check.bot_username,
        provider=wanted.check.provider,
        generation=claim.generation,
        operation=Operation.DEPLOY,
        operation_id=claim.id,
    )
    project.operation_deadline = timezone.now() + time_allowed(project)
    project.encrypt_credentials(telegram_token=wanted.telegram_token, api_key=wanted.api_key)
    try:
        with transaction.atomic():
            check_plan_limit(owner=owner, plan=wanted.plan)
            project.save(force_insert=True)
    except IntegrityError:
        if not _is_bot_in_use(wanted):
            raise
        raise bot_in_use() from None
    return project, claim


def check_plan_limit(*, owner: User, plan: Plan) -> None:
    """Count under a lock on the owner's row, so that parallel creations cannot exceed the limit together."""
    User.objects.select_for_update().get(pk=owner.pk)
    if Project.objects.owned_by(owner).live().filter(plan=plan).count() >= plan.max_projects:
        raise PlanLimitReachedError(
            f"The {plan.slug} plan allows {plan.max_projects} project(s), and you have as many. "
            "Delete one or choose another plan."
        )


def bot_in_use() -> BotInUseError:
    return BotInUseError(
        "Another project already runs this Telegram bot, and two would knock each other out. "
        "Delete that project, or make a new bot with @BotFather."
    )


def _check_it_still_exists(project: Project, error: OperationLostError) -> None:
    """A stop during the deploy leaves a project, which is the answer then. After a deletion `error` is raised."""
    try:
        project.refresh_from_db()
    except ProjectGoneError:
        raise error from None


def _clean_up(project: Project) -> None:
    """Removes what a failed deploy has made. Where the engine is silent, the watcher removes it later."""
    try:
        claim = claim_deletion(project)
        if claim is not None:
            finish_deletion(project, claim, remove_container(project))
    except ProjectGoneError:
        return
    except EngineError:
        log.warning("The remains of project %s are left to the watcher.", project.pk)
