"""How an agent gets a new image, and its old one back where the new one does not get ready. Pure rules.

COPY: the agent is stopped, what it keeps is copied, and the new image is started; then TRIAL: it must become ready in
time; or BACK: the copy takes the place of what it keeps; then RETURNED: the old image is started. Each step may be
repeated, and the row says which one is next, so that a watcher goes on where another one was killed.

There is a whole copy in TRIAL, BACK, RETURNED and STUCK: BACK was tried too often. In UNTRIED there is none, because it
could not be made: the old image is started. In DROP the update is over, done or undone, and the copy is to be removed.
"""

from datetime import datetime, timedelta

from django.db.models import TextChoices

from accounts.moments import lasts
from containers.vocabulary import ContainerState
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Desired, Facts
from projects.rules.status.statuses import Status

LONGEST_TRIAL = timedelta(minutes=15)
"""A type cannot give its images more time to become ready than this, with the start itself."""


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
    """What is to be done now."""

    TRY = "try"
    KEEP = "keep"
    GO_BACK = "go back"
    DROP = "drop"


def choose_due(facts: Facts) -> Due | None:
    """None where no update is under way, nobody wants the agent to run now, or the new image still has time."""
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
        return None  # nothing runs now, and the image has no part in it
    if facts.state != ContainerState.RUNNING or facts.gave_up or facts.failed:
        return Due.GO_BACK
    # As of the moment at which it was last looked at: the watcher has just done so.
    status = derive_status(facts._replace(checked_at=facts.now))
    does_without = facts.has_reached_budget or (facts.lacks_tools and not facts.seen_code)
    if status == Status.RUNNING or (status == Status.DEGRADED and does_without):
        return Due.KEEP
    return None if any(lasts(until, at_most=LONGEST_TRIAL, now=facts.now) for until in _ends_of(facts)) else Due.GO_BACK


def _ends_of(facts: Facts) -> list[datetime | None]:
    """Of the trial. It may have been stopped meanwhile, and started again."""
    since_start = facts.started_at and facts.started_at + timedelta(seconds=facts.ready_within)
    return [facts.update_until, since_start]
