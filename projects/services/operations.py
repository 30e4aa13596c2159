"""What all operations on projects share: time limits, claiming a stop, and recording the outcome.

Every operation has three steps: claim the project, act on the engine, and record the outcome with its event.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from accounts import clock
from accounts.moments import seconds_to_wait
from containers.errors import EngineError, ImageMissingError, ImageUnusableError, NameTakenError, NoRoomError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import GatewayOffError, OperationInProgressError, OperationLostError, UnusableSettingsError
from projects.models import AgentType, Event, Project
from projects.models.columns.gateway import NOTHING_SEEN
from projects.models.columns.last_run import NOT_ENDED
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.models.operation import Claim
from projects.rules.status.lifecycle import PREEMPTED_BY, Desired, Operation

ANSWER_WITHIN = 26.0
"""Seconds for all calls of a command to the engine, Telegram and the provider, so that it answers within 30 seconds.
The last two get at most ten of them (`BERTH_OUTSIDE_LIMIT` for each)."""

AFTER_STOP = 12.0
"""Seconds that the watcher, for which no request waits, has in addition to the agent's stop timeout."""

RECORD_WITHIN = 3.0
"""Seconds to record the outcome. A claim ends this long after the time for the engine, so that the watcher soon takes
over after a killed process."""

NO_FAILURES: dict[str, Any] = {
    "failure_code": "",
    "failed_at": None,
    "recreated_at": None,
    "gave_up_at": None,
    "crash_count": 0,
    "crashes_since": None,
    "log_tail": "",
    **NOT_ENDED,
    **NO_TROUBLE,
    **NOTHING_SEEN,
}
"""The fields that an owner's start or restart resets."""


ForeseenError = EngineError | SecretUnreadableError | UnusableSettingsError | GatewayOffError
"""Errors that may prevent a container from being created, and are recorded as the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of acting on the engine: the fields to write, the error if it failed, and a warning for an event."""

    values: dict[str, Any] = field(default_factory=dict)
    error: ForeseenError | None = None
    warning: str = ""


def time_allowed(*, seconds: float = ANSWER_WITHIN) -> timedelta:
    """Returns how long an operation with this many seconds for the engine may hold the project."""
    return timedelta(seconds=seconds + RECORD_WITHIN)


def command_deadline(seconds: float = ANSWER_WITHIN) -> AbstractContextManager[None]:
    """Limits the total time of all engine calls in the block, because an engine may be slow at each of them."""
    return get_engine().deadline(seconds)


def repair_within(agent_type: AgentType) -> float:
    """Returns the seconds for a repair by the watcher if the agent uses its whole stop timeout."""
    return max(ANSWER_WITHIN, agent_type.stop_timeout + AFTER_STOP)


_FAILURE_CODES = (
    (SecretUnreadableError, "secret_unreadable"),
    (UnusableSettingsError, "settings_unusable"),
    (GatewayOffError, "gateway_off"),
    (ImageMissingError, "image_missing"),
    (NameTakenError, "name_taken"),
    (ImageUnusableError, "image_unusable"),
    (NoRoomError, "no_capacity"),
)


def failure_code(error: ForeseenError) -> str:
    return next((code for kind, code in _FAILURE_CODES if isinstance(error, kind)), "engine_refused")


@contextmanager
def released_if_broken(project: Project, claim: Claim, *, events: Iterable[Event] = ()) -> Iterator[None]:
    """Ends the operation if the block raises an unforeseen error, so that it no longer holds the project.

    Writes `events` with it.
    """
    try:
        yield
    except Exception:
        project.record(claim, events=events)
        raise


def claim_stop(project: Project, **values: Any) -> Claim | None:
    """Claims the project for a stop, to which a deploy, start or restart gives way at once.

    Writes `values` in any case. Returns None if another stop is in flight, because one request waiting for the agent is
    enough. Raises `OperationInProgressError` if the project is being deleted.
    """
    lasting, preempting = time_allowed(), PREEMPTED_BY[Operation.STOP]
    while True:
        claim = project.claim(Operation.STOP, lasting=lasting, preempting=preempting, **values)
        if claim is not None or project.want(during=Operation.STOP, **values):
            return claim
        project.refresh_from_db()
        if project.desired == Desired.DELETED:
            raise operation_in_progress(project)
        # The other stop has ended meanwhile, and a start may have begun, which must give way.


def want_stopped(project: Project, event: Event, **values: Any) -> None:
    """Writes `values` and the event, and leaves the stop to the one in flight or to the watcher.

    A deploy, start or restart gives way: otherwise it would bring up the agent, or write over the wish if the engine
    falls silent. Raises `OperationInProgressError` if the project is being deleted.
    """
    claim = claim_stop(project, **values)
    if claim is None or not project.record(claim, events=[event]):
        event.save()


def record_outcome(
    project: Project, claim: Claim, outcome: Outcome, *, events: Iterable[Event] = (), **values: Any
) -> None:
    """Ends the operation: writes the outcome, `values` and the events together.

    Writes nothing and raises `OperationLostError` if another operation has taken over the project.
    """
    if not project.record(claim, events=events, **outcome.values, **values):
        raise operation_lost(project)


def failure(code: str) -> dict[str, Any]:
    return {"failure_code": code, "failed_at": clock.now()}


def operation_lost(project: Project) -> OperationLostError:
    return OperationLostError(f"A stop or a deletion of “{project.name}” took precedence. Look at it again.")


def operation_in_progress(project: Project) -> OperationInProgressError:
    deadline = project.operation_deadline or clock.now()
    return OperationInProgressError(
        f"Another command is being carried out on “{project.name}”. Try again in a few seconds.",
        retry_after=min(seconds_to_wait(deadline - clock.now()), 5),
    )
