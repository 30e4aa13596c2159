"""The two acts that operations share: bring a claimed project's container up, and take it down."""

import time
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from containers.engine import EngineError, EngineUnavailableError, ImageMissingError, NameTakenError, SupersededError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import OperationInProgressError, OperationLostError
from projects.models import AgentType, Project
from projects.models.operation import Claim
from projects.rules.lifecycle import PREEMPTED_BY, Desired, Operation
from projects.services.container_spec import build_spec

ANSWER_WITHIN = 26.0
"""Seconds that all calls of a command to the engine may take, so that its answer comes within 30."""

AFTER_STOP = 12.0
"""Seconds apart from the stop timeout, where that is so long that the answer cannot come within 30."""

RECORD_WITHIN = 3.0
"""Seconds to write what came of it. A claim lasts no longer than that, so that what a killed process leaves is taken
over soon."""

POLL_SECONDS = 0.1

CLEAN_SLATE: dict[str, Any] = {
    "failure_code": "",
    "failed_at": None,
    "recreated_at": None,
    "gave_up_at": None,
    "crash_count": 0,
    "crashes_since": None,
    "log_tail": "",
}
"""What an owner's start or restart forgets."""


def time_allowed(project: Project) -> timedelta:
    """How long an operation may hold the project."""
    return timedelta(seconds=answer_within(project.agent_type) + RECORD_WITHIN)


def command_deadline(agent_type: AgentType) -> AbstractContextManager[None]:
    """Inside, an engine that is slow at every call makes nobody wait for the sum of them."""
    return get_engine().deadline(answer_within(agent_type))


def answer_within(agent_type: AgentType) -> float:
    return max(ANSWER_WITHIN, agent_type.stop_timeout + AFTER_STOP)


def failure_code(error: EngineError) -> str:
    match error:
        case ImageMissingError():
            return "image_missing"
        case NameTakenError():
            return "name_taken"
        case _:
            return "engine_refused"


def bring_up(project: Project, claim: Claim, *, otherwise: Desired, **values: Any) -> None:
    """Afterwards a container of the claim's generation has been started, and the row says so, with `values`.

    Where the engine falls silent the project is wanted as it was before (`otherwise`): the caller is told 503.
    What was wanted then comes about when it answers again: an agent that was down stays down, one that was up is up,
    maybe as the new container. Where it refuses, the refusal is recorded. Both are raised.
    """
    try:
        seen = get_engine().deploy(build_spec(project), confirm=lambda: project.holds(claim))
    except SupersededError:
        raise lost(project) from None
    except EngineUnavailableError:
        # It may have taken the old container away: if that is gone, it did not vanish by itself.
        if not project.record(claim, desired=otherwise, recreated_at=None):
            raise lost(project) from None
        raise
    except SecretUnreadableError:
        project.record(claim, failure_code="secret_unreadable", failed_at=timezone.now())
        raise
    except EngineError as error:
        fields = _look_again(project)
        if not project.record(claim, fields=fields, failure_code=failure_code(error), failed_at=timezone.now()):
            raise lost(project) from None
        raise
    fields = project.apply_observation(seen, at=timezone.now())
    if not project.record(claim, fields=fields, **values):
        raise lost(project)


def claim_stop(project: Project, **wants: Any) -> Claim:
    """Take the project for a stop: from a deploy, start or restart at once, from another stop when that has ended.

    Raises `OperationInProgressError` for a project that is being deleted.
    """
    lasting = time_allowed(project)
    until = time.monotonic() + answer_within(project.agent_type)
    while True:
        claim = project.claim(Operation.STOP, lasting=lasting, preempting=PREEMPTED_BY[Operation.STOP], **wants)
        if claim is not None:
            return claim
        project.refresh_from_db()
        if project.desired == Desired.DELETED or time.monotonic() >= until:
            raise in_progress(project)
        time.sleep(POLL_SECONDS)


def take_down(project: Project, claim: Claim, **values: Any) -> None:
    """Afterwards no process of the container runs, and the row says so. Raises `EngineError`, the claim still held."""
    engine = get_engine()
    engine.stop(project.container_name, timeout=project.agent_type.stop_timeout)
    if claim.contested:
        # The operation that lost may be about to start what it made: a container that is gone cannot be started.
        engine.remove(project.container_name)
    fields = project.apply_observation(engine.inspect(project.container_name), at=timezone.now())
    if not project.record(claim, fields=fields, **values):
        raise lost(project)


def _look_again(project: Project) -> list[str]:
    try:
        seen = get_engine().inspect(project.container_name)
    except EngineError:
        return []
    return project.apply_observation(seen, at=timezone.now())


def lost(project: Project) -> OperationLostError:
    return OperationLostError(f"A stop or a deletion of “{project.name}” came in meanwhile and won. Look at it again.")


def in_progress(project: Project) -> OperationInProgressError:
    deadline = project.operation_deadline or timezone.now()
    left = int((deadline - timezone.now()).total_seconds())
    return OperationInProgressError(
        f"Another command is being carried out on “{project.name}”. Try again in a few seconds.",
        retry_after=min(max(left, 1), 5),
    )
