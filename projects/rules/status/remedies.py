"""What to do about a project that is not in the state that its owner wants. Pure rules."""

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
    drifted: bool = False,
    barred: bool = False,
) -> Remedy | None:
    """Returns None where nothing has to be done or an operation is in flight.

    `outdated` says that the container is of an earlier generation than the last claim, as an interrupted restart leaves
    one and as new credentials make it, or that it is not the only one of the project that runs. `drifted`: somebody
    changed its networks, its limits, its privileges or its restart policy. `barred`: no agent may run now, because the
    firewall that it has to have does not hold.
    """
    remedy = Remedy.UPDATE if choose_due(facts) else None
    remedy = remedy or _choose(facts, crash_count=crash_count, recreated_at=recreated_at, outdated=outdated)
    if drifted and remedy is None and not facts.operation and facts.state is not None:
        remedy = Remedy.REALIGN
    return _instead(remedy, facts) if barred else remedy


def _instead(remedy: Remedy | None, facts: Facts) -> Remedy | None:
    """What to do where no agent may run. A project that is to be stopped or deleted anyway keeps its own remedy."""
    if facts.operation or remedy not in {None, Remedy.REALIGN, Remedy.BRING_BACK, Remedy.RECREATE, Remedy.UPDATE}:
        return remedy
    return Remedy.STOP_UNPROTECTED if facts.is_up else None


def _choose(facts: Facts, *, crash_count: int, recreated_at: datetime | None, outdated: bool) -> Remedy | None:
    if facts.operation:
        return None
    if facts.desired == Desired.DELETED:
        return Remedy.FINISH_DELETION
    if facts.suspended or facts.desired == Desired.STOPPED or facts.gave_up or facts.kept_down:
        return Remedy.TAKE_DOWN if facts.is_up else None
    if facts.failed:
        return None
    if facts.state is None:
        until = recreated_at and recreated_at + CRASH_WINDOW
        recently = lasts(until, at_most=CRASH_WINDOW, now=facts.now)
        return Remedy.DECLARE_FAILED if recently else Remedy.RECREATE
    return _remedy_when_wanted(facts, crash_count=crash_count, outdated=outdated)


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
