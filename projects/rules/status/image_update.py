"""How an agent gets a new image, and returns to its old one if the new one does not become ready. Pure rules.

The row names the next step, and each step may be repeated, so that a watcher continues where another one was killed:

- COPY: stop the agent, copy its memory, start the new image.
- TRIAL: the new image must become ready in time.
- BACK: it did not, so replace the agent's memory with the copy.
- RETURNED: start the old image.
- STUCK: BACK failed too often.
- UNTRIED: the memory could not be copied, so start the old image. There is no copy.
- DROP: the update is over, done or undone. Remove the copy.

TRIAL, BACK, RETURNED and STUCK have a complete copy.
"""

from datetime import datetime, timedelta

from django.db.models import TextChoices

from accounts.moments import lasts
from containers.vocabulary import ContainerState
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Desired, Facts
from projects.rules.status.statuses import Status

LONGEST_TRIAL = timedelta(minutes=15)
"""The longest time that a type can give its images to become ready, including the start itself."""


class Step(TextChoices):
    NONE = "", "none"
    COPY = "copy"
    TRIAL = "trial"
    UNTRIED = "untried"
    BACK = "back"
    RETURNED = "returned"
    STUCK = "stuck"
    DROP = "drop"


class Due(TextChoices):
    """What to do now."""

    TRY = "try"
    KEEP = "keep"
    GO_BACK = "go back"
    DROP = "drop"


def choose_due(facts: Facts) -> Due | None:
    """Returns None if no update is under way, the agent should not run now, or the new image still has time."""
    step = facts.update_step
    if not step or facts.operation or facts.desired == Desired.DELETED:
        return None
    if step == Step.DROP:
        return None if lasts(facts.update_until, at_most=LONGEST_TRIAL, now=facts.now) else Due.DROP
    if facts.desired != Desired.RUNNING or facts.suspended or facts.kept_down:
        return None
    return _choose_step(facts)


def _choose_step(facts: Facts) -> Due | None:
    match facts.update_step:
        case Step.COPY:
            return Due.TRY
        case Step.TRIAL:
            return _judge_trial(facts)
        case Step.STUCK if facts.failed:
            return None  # until its owner starts it again
        case _:
            return Due.GO_BACK


def _judge_trial(facts: Facts) -> Due | None:
    if facts.unprotected:
        return None  # no agent may run now, which is not the image's fault
    if facts.state != ContainerState.RUNNING or facts.gave_up or facts.failed:
        return Due.GO_BACK
    # The watcher has just looked at the container, so the facts are fresh.
    status = derive_status(facts._replace(checked_at=facts.now))
    does_without = facts.has_reached_budget or (facts.lacks_tools and not facts.seen_code)
    if status == Status.RUNNING or (status == Status.DEGRADED and does_without):
        return Due.KEEP
    return None if any(lasts(until, at_most=LONGEST_TRIAL, now=facts.now) for until in _ends_of(facts)) else Due.GO_BACK


def _ends_of(facts: Facts) -> list[datetime | None]:
    """Returns when the trial ends at the latest: there are two ends, because the agent may have been started again."""
    since_start = facts.started_at and facts.started_at + timedelta(seconds=facts.ready_within)
    return [facts.update_until, since_start]
