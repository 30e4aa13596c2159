"""What all operations on a project share: how long they may take, how they claim it, and how they record the outcome.

Every operation has three steps: claim the project, act on the engine, and record the outcome with its event.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from accounts import clock
from containers.errors import EngineError, ImageMissingError, NameTakenError, NoRoomError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import GatewayOffError, OperationInProgressError, OperationLostError, UnusableSettingsError
from projects.models import AgentType, Event, Project
from projects.models.columns.behind_gateway import NOTHING_SEEN
from projects.models.columns.ended import NOT_ENDED
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.models.operation import Claim
from projects.rules.status.lifecycle import PREEMPTED_BY, Operation

ANSWER_WITHIN = 26.0
"""Seconds that all calls of a command may take, to the engine, Telegram and the provider, so that its answer comes
within 30. The last two have ten of them at most (`BERTH_OUTSIDE_LIMIT` for each)."""

AFTER_STOP = 12.0
"""Seconds that the watcher, for which nobody waits, has beyond the stop timeout of the agent."""

RECORD_WITHIN = 3.0
"""Seconds to record the outcome. A claim ends this long after the engine's time, so that the watcher soon takes over
what a killed process has left."""

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
"""What may keep a container from being made, and is recorded as the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an act on the engine led to: the fields to write, the error if it failed, and what is to be told of it."""

    values: dict[str, Any] = field(default_factory=dict)
    error: ForeseenError | None = None
    warning: str = ""


def time_allowed(*, seconds: float = ANSWER_WITHIN) -> timedelta:
    """How long an operation that asks the engine for so many seconds may hold the project."""
    return timedelta(seconds=seconds + RECORD_WITHIN)


def command_deadline(seconds: float = ANSWER_WITHIN) -> AbstractContextManager[None]:
    """Limits all engine calls inside together, so that an engine that is slow at each call delays nobody for long."""
    return get_engine().deadline(seconds)


def repair_within(agent_type: AgentType) -> float:
    """Seconds that a repair of the watcher may take, with an agent that uses all the time its type gives it to end."""
    return max(ANSWER_WITHIN, agent_type.stop_timeout + AFTER_STOP)


_FAILURE_CODES = (
    (SecretUnreadableError, "secret_unreadable"),
    (UnusableSettingsError, "settings_unusable"),
    (GatewayOffError, "gateway_off"),
    (ImageMissingError, "image_missing"),
    (NameTakenError, "name_taken"),
    (NoRoomError, "no_capacity"),
)


def failure_code(error: ForeseenError) -> str:
    return next((code for kind, code in _FAILURE_CODES if isinstance(error, kind)), "engine_refused")


@contextmanager
def released_if_broken(project: Project, claim: Claim) -> Iterator[None]:
    """Ends the operation where an error that nobody foresaw comes out of it, so that it holds the project no longer."""
    try:
        yield
    except Exception:
        project.record(claim)
        raise


def claim_stop(project: Project, **values: Any) -> Claim | None:
    """Claims the project for a stop, to which a deploy, start or restart gives way at once.

    Returns None where another stop is in flight: one request waits for the agent, and all others are done when `values`
    are written. Those are further fields to set. Raises `OperationInProgressError` for a project that is being deleted.
    """
    lasting, preempting = time_allowed(), PREEMPTED_BY[Operation.STOP]
    claim = project.claim(Operation.STOP, lasting=lasting, preempting=preempting, **values)
    if claim is None:
        want_stopped(project, **values)
    return claim


def want_stopped(project: Project, **values: Any) -> None:
    """Writes `values`, and leaves the stop to the one in flight or to the watcher.

    Raises `OperationInProgressError` for a project that is being deleted.
    """
    if not project.want(**values):
        project.refresh_from_db()
        raise operation_in_progress(project)


def record_outcome(
    project: Project, claim: Claim, outcome: Outcome, *, events: Iterable[Event] = (), **values: Any
) -> None:
    """Ends the operation: writes the outcome, `values` and the events together.

    Raises `OperationLostError`, having written nothing, where another operation has taken the project.
    """
    if not project.record(claim, events=events, **outcome.values, **values):
        raise operation_lost(project)


def failure(code: str) -> dict[str, Any]:
    return {"failure_code": code, "failed_at": clock.now()}


def operation_lost(project: Project) -> OperationLostError:
    return OperationLostError(f"A stop or a deletion of “{project.name}” came in meanwhile and won. Look at it again.")


def operation_in_progress(project: Project) -> OperationInProgressError:
    deadline = project.operation_deadline or clock.now()
    left = int((deadline - clock.now()).total_seconds())
    return OperationInProgressError(
        f"Another command is being carried out on “{project.name}”. Try again in a few seconds.",
        retry_after=min(max(left, 1), 5),
    )
