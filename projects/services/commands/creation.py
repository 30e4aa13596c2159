"""Creates projects, from the request to a running container."""

from dataclasses import replace
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.utils import Error as DatabaseError
from django.views.decorators.debug import sensitive_variables

from accounts.database.insert import insert_row
from accounts.models import User
from projects.credentials.tool_servers import look_at_servers
from projects.credentials.verification import CredentialCheck, parse_bot_id, verify_credentials
from projects.errors import OperationLostError, ProjectGoneError
from projects.models import Actor, Event, Project
from projects.models.agent_user import take_uid
from projects.models.operation import Claim
from projects.models.provider import read_named_for
from projects.rules.status.lifecycle import Desired
from projects.services.bulkheads import COMMANDS, takes_place
from projects.services.commands.admission import (
    check_bot,
    check_choices,
    check_image,
    check_own_bots,
    check_plan_limit,
    claim_bot,
    lock_owner,
    lock_provider,
)
from projects.services.commands.new_project import NewProject, make_row
from projects.services.commands.start_and_stop import bring_up
from projects.services.commands.undoing import claim_undoing, undo, undo_creation, undo_later
from projects.services.container_spec import check_spec
from projects.services.credentials.server_credentials import check_server_credentials
from projects.services.gateway.provisioning import known_place
from projects.services.gateway.virtual_credentials import equip_new, goes_behind_gateway
from projects.services.limits.budgets import check_budget
from projects.services.limits.capacity import check_capacity, learn_host_memory, reserve_memory
from projects.services.limits.permissions import check_egress, check_model
from projects.services.operations import (
    ForeseenError,
    Outcome,
    command_deadline,
    failure_code,
    operation_in_progress,
    record_outcome,
)


@takes_place
@sensitive_variables("wanted")
def create_project(*, owner: User, wanted: NewProject, actor: Actor) -> Project:
    """Deploys a project and returns it. If it raises, nothing of the project is left, or it is removed in a moment.

    Raises `NoPlaceError`, `PlanLimitReachedError`, `NoCapacityError`, `BotInUseError`, `InvalidFieldError`,
    `UnusableSettingsError`, `OperationLostError` and `EngineError`.
    """
    with command_deadline():
        check = _look_then_ask(owner=owner, wanted=wanted)
        project, claim = _insert_claimed(owner=owner, wanted=wanted, check=check)
        try:
            outcome = bring_up(project, claim, desired_if_silent=Desired.DELETED, is_new=True)
            events = _deploy_events(project, actor, check, outcome.error)
            if outcome.error is None:
                record_outcome(project, claim, outcome, events=events)
                return project
            deletion = _record_failure(project, claim, outcome, events)
        except OperationLostError as error:
            _check_it_still_exists(project, error)
            Event.objects.bulk_create(_deploy_events(project, actor, check))
            return project
        except Exception:  # unforeseen
            undo_creation(project, claim)
            raise
        undo(project, deletion)
        raise outcome.error


def _record_failure(project: Project, claim: Claim, outcome: Outcome, events: list[Event]) -> Claim | None:
    """Ends the deploy and claims the deletion in one transaction, so that the failed project is never visible."""
    with transaction.atomic():
        record_outcome(project, claim, outcome, events=events)
        return claim_undoing(project)


def _deploy_events(
    project: Project, actor: Actor, check: CredentialCheck, error: ForeseenError | None = None
) -> list[Event]:
    if error is not None:
        return [project.event(actor, "deploy", failure_code(error))]
    warnings = [project.event(actor, "deploy", "warning", detail=warning) for warning in check.warnings]
    return [project.event(actor, "deploy", "done"), *warnings]


@sensitive_variables("wanted")
def check_creation(*, owner: User, wanted: NewProject) -> CredentialCheck:
    """Checks what `create_project` checks and raises what it raises, but creates nothing."""
    with COMMANDS.take(owner.email), command_deadline():
        check = _look_then_ask(owner=owner, wanted=wanted)
        more = look_at_servers(wanted.agent_type.settings_schema, wanted.settings, asker=str(owner.pk))
    check = replace(check, warnings=(*check.warnings, *more))
    check_bot(owner=owner, check=check, project_id=wanted.project_id)
    return check


@sensitive_variables("wanted")
def _look_then_ask(*, owner: User, wanted: NewProject) -> CredentialCheck:
    """Makes all checks that need no outside server, then asks Telegram and the provider."""
    check_image(wanted.agent_type)
    host = learn_host_memory()
    check_plan_limit(owner=owner, plan=wanted.plan)
    check_budget(wanted.budget, ceiling=wanted.plan.budget)
    check_egress(wanted.egress, least=wanted.agent_type.least_egress)
    check_model(wanted.settings, agent_type=wanted.agent_type, plan=wanted.plan)
    check_server_credentials(wanted.agent_type, wanted.settings)
    check_capacity(project_id=wanted.project_id, plan=wanted.plan, host=host)
    if wanted.telegram_token:
        check_own_bots(owner=owner, bot_id=parse_bot_id(wanted.telegram_token), project_id=wanted.project_id)
    chosen = str(wanted.settings.get("provider", ""))
    return verify_credentials(
        telegram_token=wanted.telegram_token,
        api_key=wanted.api_key,
        provider=chosen,
        named=read_named_for(api_key=wanted.api_key, chosen=chosen),
    )


@sensitive_variables("wanted")
def _insert_claimed(*, owner: User, wanted: NewProject, check: CredentialCheck) -> tuple[Project, Claim]:
    """Inserts the row, already claimed by the deploy."""
    claim = Claim(id=uuid4(), generation=1, contested=False, is_first=wanted.is_first)
    project = make_row(owner=owner, wanted=wanted, check=check, claim=claim)
    check_spec(project)  # never write a row whose container cannot be specified
    place = known_place() if goes_behind_gateway(project) else None
    try:
        with transaction.atomic():
            lock_provider(check.provider)
            lock_owner(owner)
            check_plan_limit(owner=owner, plan=wanted.plan)
            claim_bot(owner=owner, check=check, project_id=project.pk)
            reserve_memory(project_id=project.pk, plan=wanted.plan)
            project.uid = take_uid()
            if place is not None:
                equip_new(project, place)  # otherwise its start does this
            insert_row(project)
            project.cache_spending(None)
    except IntegrityError:
        if Project.objects.filter(pk=project.pk).exists():  # a retry has taken over from a slow request
            raise operation_in_progress(project) from None
        check_choices(type=wanted.agent_type, plan=wanted.plan)
        check_bot(owner=owner, check=check, project_id=project.pk)
        raise
    except DatabaseError:
        undo_later(project, claim)  # the commit may have been carried out all the same
        raise
    return project, claim


def _check_it_still_exists(project: Project, error: OperationLostError) -> None:
    """Raises `error` if the project was deleted during the deploy. A stopped project still exists and is returned."""
    try:
        project.refresh_from_db()
    except ProjectGoneError:
        raise error from None
