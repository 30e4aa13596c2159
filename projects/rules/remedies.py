"""What to do about a project that is not in the state that its owner wants. Pure rules."""

from datetime import datetime
from enum import StrEnum

from accounts.moments import lasts
from containers.vocabulary import ContainerState
from projects.rules.lifecycle import CRASH_LIMIT, CRASH_WINDOW, Desired, Facts, is_crash_loop


class Remedy(StrEnum):
    FINISH_DELETION = "finish deletion"
    TAKE_DOWN = "take down"
    GIVE_UP = "give up"
    BRING_BACK = "bring back"
    RECREATE = "recreate"
    DECLARE_FAILED = "declare failed"


def choose_remedy(
    facts: Facts, *, crash_count: int = 0, recreated_at: datetime | None = None, outdated: bool = False
) -> Remedy | None:
    """Returns None where nothing has to be done or an operation is in flight.

    `outdated` says that the container is of an earlier generation than the last claim. An interrupted restart leaves
    such a container.
    """
    if facts.operation:
        return None
    if facts.desired == Desired.DELETED:
        return Remedy.FINISH_DELETION
    if facts.suspended or facts.desired == Desired.STOPPED or facts.gave_up or facts.bot_denied:
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
            return Remedy.GIVE_UP if loop else Remedy.BRING_BACK
        case ContainerState.CREATED | ContainerState.PAUSED:
            return Remedy.BRING_BACK
        case _:
            return None
