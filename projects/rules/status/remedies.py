"""Chooses what to do about a project that is not in the state that its owner wants. Pure rules."""

from datetime import datetime
from enum import StrEnum

from accounts.moments import lasts
from containers.vocabulary import ContainerState
from projects.rules.status.image_update import choose_due
from projects.rules.status.lifecycle import CRASH_LIMIT, CRASH_WINDOW, Desired, Facts, is_crash_loop


class Remedy(StrEnum):
    FINISH_DELETION = "finish deletion"
    TAKE_DOWN = "take down"
    GIVE_UP = "give up"
    BRING_BACK = "bring back"
    REALIGN = "realign"
    STOP_UNPROTECTED = "stop without firewall"
    RECREATE = "recreate"
    DECLARE_FAILED = "declare failed"
    UPDATE = "new image"


def choose_remedy(
    facts: Facts,
    *,
    crash_count: int = 0,
    recreated_at: datetime | None = None,
    outdated: bool = False,
    crowded: bool = False,
    drifted: bool = False,
    barred: bool = False,
) -> Remedy | None:
    """Returns what to do, or None if there is nothing to do or an operation is in flight.

    - `outdated`: the container has an earlier generation than the last claim, after an interrupted restart or with new
      credentials.
    - `crowded`: more than one container of the project runs. They poll the same bot and disturb each other.
    - `drifted`: the container's networks, limits, privileges or restart policy were changed from outside, or
      there is a second container that does not run.
    - `barred`: no agent may run now because its firewall is not in place.
    """
    remedy = Remedy.UPDATE if choose_due(facts) else None
    remedy = remedy or _choose(
        facts, crash_count=crash_count, recreated_at=recreated_at, outdated=outdated, crowded=crowded
    )
    if drifted and remedy is None and not facts.operation and facts.state is not None:
        remedy = Remedy.REALIGN
    return _instead(remedy, facts) if barred else remedy


def _instead(remedy: Remedy | None, facts: Facts) -> Remedy | None:
    """Returns what to do while no agent may run. A project that is being stopped or deleted keeps its own remedy."""
    if facts.operation or remedy not in {None, Remedy.REALIGN, Remedy.BRING_BACK, Remedy.RECREATE, Remedy.UPDATE}:
        return remedy
    return Remedy.STOP_UNPROTECTED if facts.is_up else None


def _choose(
    facts: Facts, *, crash_count: int, recreated_at: datetime | None, outdated: bool, crowded: bool
) -> Remedy | None:
    if facts.operation:
        return None
    if facts.desired == Desired.DELETED:
        return Remedy.FINISH_DELETION
    if facts.suspended or facts.desired == Desired.STOPPED or facts.gave_up or facts.kept_down:
        return Remedy.TAKE_DOWN if facts.is_up else None
    if facts.failed:
        return Remedy.TAKE_DOWN if crowded else None  # a failed restart leaves the former container running, but one
    if facts.state is None:
        until = recreated_at and recreated_at + CRASH_WINDOW
        recently = lasts(until, at_most=CRASH_WINDOW, now=facts.now)
        return Remedy.DECLARE_FAILED if recently else Remedy.RECREATE
    return _remedy_when_wanted(facts, crash_count=crash_count, outdated=outdated or crowded)


def _remedy_when_wanted(facts: Facts, *, crash_count: int, outdated: bool) -> Remedy | None:
    match facts.state:
        case ContainerState.RUNNING:
            if crash_count >= CRASH_LIMIT:
                return Remedy.GIVE_UP
            return Remedy.BRING_BACK if outdated else None
        case ContainerState.RESTARTING:
            return Remedy.GIVE_UP if is_crash_loop(exit_code=facts.exit_code, count=crash_count) else None
        case ContainerState.EXITED | ContainerState.DEAD:
            loop = is_crash_loop(exit_code=facts.exit_code, count=crash_count)
            return Remedy.GIVE_UP if loop and not outdated else Remedy.BRING_BACK
        case ContainerState.CREATED | ContainerState.PAUSED:
            return Remedy.BRING_BACK
        case _:
            return None
