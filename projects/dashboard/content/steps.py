"""The progress of a deploy as steps with times, from the row and the record of its form."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from accounts.models import User
from accounts.moments import is_recent
from containers.agent_contract import AgentState
from containers.vocabulary import Health
from projects.models import IdempotencyRecord, Project
from projects.models.rows.snapshot import Snapshot
from projects.rules.status.lifecycle import Facts, Operation
from projects.rules.status.traits import Condition

SHOWN_FOR = timedelta(minutes=15)
"""How long a page shows the steps of a deploy."""


class State(Enum):
    """The state of a step. Its value is shown and also decides its look."""

    DONE = "done"
    NOW = "under way"
    AHEAD = "not yet"
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step. `seconds` is how long it took and `at` when it was done, if known; `remark` says how it is known."""

    title: str
    state: State
    remark: str = ""
    at: datetime | None = None
    seconds: float | None = None

    @property
    def took(self) -> str:
        return "" if self.seconds is None or self.seconds < 0 else f"{self.seconds:.1f} s"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps. `goes_on`: something may still change, so the page asks again."""

    steps: list[Step]
    goes_on: bool

    @property
    def is_done(self) -> bool:
        return all(step.state is State.DONE for step in self.steps)


TITLES = ("Checked", "Container made", "Started", "Polling Telegram")
_BY_ITSELF = (TITLES[-1], "as it reports itself")
_BY_NOBODY = ("Running", "nothing tells whether it polls Telegram")


def is_new(project: Project, now: datetime) -> bool:
    """Returns whether this is the project's first deploy, a short while ago."""
    return project.generation == 1 and is_recent(project.created_at, within=SHOWN_FOR, now=now)


def find_project_of_form(owner: User, key: str) -> Project | None:
    """Returns the project that the form with this key creates, or None if there is none yet."""
    record = IdempotencyRecord.objects.filter(owner=owner, key=key).first()
    rows = Project.objects.owned_by(owner).live().with_heartbeat().select_related("owner", "plan", "agent_type")
    return rows.filter(pk=record.project_id).first() if record else None


def describe_pending_deploy() -> Steps:
    states = (State.NOW, State.AHEAD, State.AHEAD, State.AHEAD)
    return Steps(
        steps=[Step(title=title, state=state) for title, state in zip(TITLES, states, strict=True)], goes_on=True
    )


def describe_steps(snapshot: Snapshot) -> Steps:
    """Returns the steps of an existing project, whose credentials were therefore checked.

    A degraded agent counts as done: people can write to it, and the page explains its trouble.
    """
    project, facts = snapshot.project, snapshot.facts
    sent = IdempotencyRecord.objects.filter(owner=project.owner_id, project_id=project.pk).first()
    has_started = bool(project.container_id and project.started_at) and facts.operation != Operation.DEPLOY
    traits = snapshot.status.traits
    polls = has_started and traits.condition == Condition.UP and traits.is_settled
    ended = traits.condition in {Condition.ENDED, Condition.DOWN}
    polled_at = project.first_polled_at if polls and _after(project.first_polled_at, project.started_at) else None
    reached = 1 + 2 * has_started + polls
    later = State.BROKEN if ended else State.NOW
    states = [State.DONE] * reached + [later] * (reached < len(TITLES)) + [State.AHEAD] * (len(TITLES) - reached - 1)
    started_at = project.started_at if has_started else None
    title, remark = (TITLES[-1], "") if polled_at or not polls else _name_last(project, facts)
    times = [
        (project.created_at, _seconds(sent.created_at if sent else None, project.created_at)),
        (None, _seconds(project.created_at, started_at)),
        (started_at, None),
        (polled_at, _seconds(started_at, polled_at)),
    ]
    steps = [
        Step(title=title, state=state, at=at, seconds=seconds)
        for title, state, (at, seconds) in zip((*TITLES[:-1], title), states, times, strict=True)
    ]
    steps[-1] = replace(steps[-1], remark=remark)
    # The first poll is read from the gateway every few seconds; the agent itself may have reported earlier.
    has_more = reached < len(TITLES) or (polled_at is None and project.has_virtual_credentials)
    return Steps(steps=steps, goes_on=not ended and has_more and is_new(project, facts.now))


def _name_last(project: Project, facts: Facts) -> tuple[str, str]:
    """Returns the last step of a running agent and a remark. Without the gateway, only the agent itself can report."""
    if project.has_virtual_credentials:
        return TITLES[-1], ""
    says_so = facts.agent_state == AgentState.RUNNING and facts.health != Health.UNHEALTHY
    return _BY_ITSELF if says_so or facts.health == Health.HEALTHY else _BY_NOBODY


def _after(moment: datetime | None, other: datetime | None) -> bool:
    return moment is not None and other is not None and moment >= other


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return (until - since).total_seconds() if since and until else None
