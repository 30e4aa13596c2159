"""The two actions that operations share: starting and stopping the container of a claimed project."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from accounts import clock
from accounts.database.durability import keep_commits
from containers.agent_contract import AgentState
from containers.engine.lists import Prefetch
from containers.errors import (
    AddressUnusableError,
    EngineError,
    EngineUnavailableError,
    FirewallMissingError,
    ImageMissingError,
    ImageNotPulledError,
    StillStoppingError,
    SupersededError,
)
from containers.get_engine import get_engine
from containers.vocabulary import AgentReport, ContainerState, Health, Observation
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import GatewayOffError, UnusableSettingsError
from projects.models import Project
from projects.models.operation import Claim
from projects.models.processes.watcher import is_barred
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import Desired
from projects.services.agent_users import ensure_user
from projects.services.commands.lost_memory import record_lost_memory
from projects.services.container_spec import build_spec
from projects.services.credentials.pairing_secret import ensure_pairing_secret
from projects.services.gateway.early_connection import connecting_to_gateway
from projects.services.gateway.provisioning import Place
from projects.services.gateway.rollback import stay_with
from projects.services.gateway.synchronization import GatewayNotification, leave_gateway, notify_gateway, prepare
from projects.services.operations import Outcome, failure, failure_code, operation_lost
from projects.services.reports.runs import keep_run

ADDRESSES = 4
"""How many addresses a start tries."""

Made = tuple[Observation, datetime]
"""A container and when the engine last reported it, before the gateway was notified."""


def bring_up(
    project: Project,
    claim: Claim,
    *,
    desired_if_silent: Desired,
    or_newest: bool = True,
    seen: Observation | None = None,
    is_new: bool = False,
) -> Outcome:
    """Starts a container of the claim's generation. `seen` is the observation from before the claim. `is_new`: nothing
    of the project has run yet, so it can get another user.

    If the engine stops answering, the outcome sets `desired_if_silent`, the state that was desired before: the caller
    gets a 503, and the watcher restores that state when the engine answers again. If the engine refuses, the outcome
    has the failure. If the engine has lost the agent's image, `or_newest` allows the type's image instead; otherwise
    this is a refusal. Raises `OperationLostError` and `ProjectGoneError`.
    """
    try:
        if is_barred(confined=project.egress == Egress.GATEWAY):
            raise FirewallMissingError
        ensure_user(project, is_new=is_new)
        ensure_pairing_secret(project)
        place, (made, at) = _deploy_somewhere(project, claim, or_newest=or_newest, seen=seen)
    except SupersededError:
        raise operation_lost(project) from None
    except (EngineUnavailableError, StillStoppingError) as error:
        # If the old container is gone, this operation removed it; it did not vanish by itself.
        return Outcome(error=error, values={"desired": desired_if_silent, "recreated_at": None})
    except (SecretUnreadableError, UnusableSettingsError, GatewayOffError, EngineError) as error:
        return Outcome(error=error, values=_look_after_failure(project) | failure(failure_code(error)))
    if place is None and made.container_id != project.container_id:
        leave_gateway(project)
    image = made.image_id or project.image_id
    return Outcome(values=_observed(project, _as_started(made), at) | {"image_id": image, "has_state": True})


def _deploy_somewhere(
    project: Project, claim: Claim, *, or_newest: bool, seen: Observation | None
) -> tuple[Place | None, Made]:
    """Deploys the container, at another address if its own is unusable because the network changed or it is taken."""
    for attempt in range(ADDRESSES):
        place = prepare(project, elsewhere=attempt > 0)
        keep_commits()  # a database that knows less than the engine stops all repairs
        with suppress(AddressUnusableError):
            return place, _deploy_known_image(project, claim, place, or_newest=or_newest, seen=seen)
        claim, seen = replace(claim, is_first=False), None
    raise AddressUnusableError


def _deploy_known_image(
    project: Project, claim: Claim, place: Place | None, *, or_newest: bool, seen: Observation | None
) -> Made:
    """Deploys the image that it ran before, or its type's image if the engine has lost that and `or_newest` is set."""
    try:
        return _deploy(project, claim, place, seen)
    except ImageMissingError as error:
        is_lost = not isinstance(error, ImageNotPulledError)
        if not (is_lost and project.image_id and or_newest):
            raise
        project.image_id = ""
        return _deploy(project, claim, place)


def _deploy(project: Project, claim: Claim, place: Place | None, seen: Observation | None = None) -> Made:
    """Creates the container and tells the gateway at the same time."""
    notification = GatewayNotification(project, place) if place else None
    try:
        made = get_engine().deploy(
            replace(build_spec(project, place), is_first=claim.is_first),
            confirm=lambda: project.holds(claim),
            retire=lambda ended: keep_run(project, ended),
            on_missing_state=lambda: record_lost_memory(project, claim),
            seen=seen,
        )
        return made, clock.now()
    finally:
        if notification is not None:
            notification.finish()


def take_down(project: Project, claim: Claim, prefetch: Prefetch = list) -> Outcome:
    """Stops the container, so that none of its processes runs, and tells the gateway that its credentials are void.

    An agent that its owner stops may use them until it ends; a suspended one may not. `prefetch`: see `Engine.stop`.
    """
    if project.is_suspended:
        notification = GatewayNotification(project) if project.has_virtual_credentials else None
        outcome = _take_down(project, claim, prefetch)
        if notification is not None:
            notification.finish()
        return outcome
    with connecting_to_gateway(project):
        outcome = _take_down(project, claim, prefetch)
    notify_gateway(project)
    return outcome


def _take_down(project: Project, claim: Claim, prefetch: Prefetch) -> Outcome:
    engine = get_engine()
    try:
        seen = engine.stop(project.container_key, timeout=project.agent_type.stop_timeout, prefetch=prefetch)
        at = clock.now()
        if claim.contested:
            # The operation that lost may be about to start its container. Remove it, so that it cannot.
            if ended := engine.inspect(project.container_key):
                keep_run(project, ended)
            engine.remove(project.container_key)
        if seen is None or claim.contested:
            at, seen = clock.now(), engine.inspect(project.container_key)
        return Outcome(values=_observed(project, seen, at))
    except StillStoppingError as error:
        return Outcome(error=error, values=_inspect_after_failure(project))
    except EngineError as error:
        return Outcome(error=error)


def _observed(project: Project, seen: Observation | None, at: datetime) -> dict[str, Any]:
    return project.observed_values(seen) | {"observed_at": at}


def _as_started(seen: Observation) -> Observation:
    """Returns an ended container as it was just after its start, because the watcher must see and count its end.

    The engine calls an ended container unhealthy, but just after its start it was neither unhealthy nor ready.
    """
    if seen.state != ContainerState.EXITED:
        return seen
    health = Health.NONE if seen.health == Health.NONE else Health.STARTING
    report = AgentReport(state=AgentState.STARTING)
    return replace(seen, state=ContainerState.RUNNING, health=health, exit_code=None, finished_at=None, report=report)


def _look_after_failure(project: Project) -> dict[str, Any]:
    """Inspects the container after a failed start. The former one may still run, with its former credentials."""
    try:
        at, seen = clock.now(), get_engine().inspect(project.container_key)
    except EngineError:
        return {}
    stay_with(project, seen)
    return _observed(project, seen, at)


def _inspect_after_failure(project: Project) -> dict[str, Any]:
    try:
        at = clock.now()
        return _observed(project, get_engine().inspect(project.container_key), at)
    except EngineError:
        return {}
