"""Builds the facts of a project from its columns, for model instances and rows of narrow queries alike."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from accounts import clock, moments
from containers.agent_contract import ProblemCode
from containers.vocabulary import ContainerState, Health
from projects.rules.bot import BOT_DENIED
from projects.rules.disk import DISK_FULL
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import BETWEEN_LEASES, LEASE, LONGEST_CLAIM, UNPROTECTED, Desired, Facts, Operation
from projects.rules.status.sightings import is_refuted
from projects.rules.status.statuses import Status

# Enum(value) takes five times as long, and a list does this two hundred times.
_DESIRED = {str(desired): desired for desired in Desired}
_OPERATIONS = {str(operation): operation for operation in Operation}
_STATES: dict[str, ContainerState | None] = {"": None, **{str(state): state for state in ContainerState}}
_HEALTH = {str(health): health for health in Health}

KEPT_DOWN = BOT_DENIED | {DISK_FULL}


def is_watch_alive(lease_until: datetime | None, now: datetime) -> bool:
    """Returns whether a watcher with this lease is at work, or between two leases."""
    until = lease_until and lease_until + BETWEEN_LEASES
    return moments.lasts(until, at_most=LEASE + BETWEEN_LEASES, now=now)


class RowFacts:
    """The facts of a row with the columns below, `is_suspended`, and the heartbeat if the query asked for it."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of a model, values of a query's row
        desired: Any
        is_suspended: Any
        operation: Any
        operation_deadline: Any
        updated_at: Any
        observed_at: Any
        reconcile_failures: Any
        container_state: Any
        health: Any
        exit_code: Any
        started_at: Any
        agent_state: Any
        gave_up_at: Any
        failure_code: Any
        heartbeat_at: Any
        watched_until: Any
        agent_code: Any
        budget_until: Any
        seen_code: Any
        seen_well: Any
        is_behind_gateway: Any
        bot_id: Any
        polled_at: Any
        update_step: Any
        update_until: Any

    def operation_in_flight(self, now: datetime) -> Operation:
        if not moments.lasts(self.operation_deadline, at_most=LONGEST_CLAIM, now=now):
            return Operation.NONE
        return _OPERATIONS[self.operation]

    def last_checked(self, now: datetime) -> datetime | None:
        """Returns the last moment at which the row was known to agree with the engine, ignoring moments in the future.

        The watcher's heartbeat says nothing about three kinds of rows: those that an operation holds, because the
        watcher does not touch them; those changed since the heartbeat, because an operation may have changed the
        engine; and those at which the watcher fails.
        """
        beat: datetime | None = self.heartbeat_at
        if beat is not None and (self.operation or self.reconcile_failures or beat < self.updated_at):
            beat = None
        seen: datetime | None = self.observed_at
        latest_possible = now + moments.CLOCKS_DIFFER
        if beat is not None and beat > latest_possible:
            beat = None
        if seen is None or seen > latest_possible:
            return beat
        return seen if beat is None or beat < seen else beat

    def has_future_moments(self, now: datetime) -> bool:
        """Returns whether the row was written before the clock stepped back, so that its age is unknown."""
        return any(moments.is_future(at, now=now) for at in (self.observed_at, self.updated_at))

    def facts(self, now: datetime | None = None) -> Facts:
        now = now or clock.now()
        return Facts(
            now=now,
            desired=_DESIRED[self.desired],
            suspended=self.is_suspended,
            operation=self.operation_in_flight(now),
            checked_at=self.last_checked(now),
            state=_STATES[self.container_state],
            health=_HEALTH[self.health],
            exit_code=self.exit_code,
            started_at=self.started_at,
            agent_state=self.agent_state,
            gave_up=self.gave_up_at is not None,
            failed=self.failure_code not in {"", UNPROTECTED},
            is_watched=self._is_watched(now),
            kept_down=self.failure_code in KEPT_DOWN,
            unprotected=self.failure_code == UNPROTECTED,
            budget_until=self.budget_until if self.is_behind_gateway else None,  # nothing else keeps to a budget
            seen_code=self.seen_code,
            awaits_poll=self.awaits_poll,
            update_step=self.update_step,
            update_until=self.update_until,
            ready_within=self.ready_within,
            is_refuted=bool(self.seen_well) and is_refuted(self.agent_code, self.seen_well),
            lacks_tools=bool(self.update_step) and self.agent_code == ProblemCode.TOOLS_REFUSED,
        )

    @property
    def ready_within(self) -> int:
        """Seconds that a new image on trial has from each start. Only a model instance knows it."""
        return 0

    @property
    def awaits_poll(self) -> bool:
        """Whether the gateway would see this run of the agent reach Telegram, but has not yet."""
        if not self.is_behind_gateway or self.bot_id is None:
            return False
        polled_at, started_at = self.polled_at, self.started_at
        return started_at is not None and (polled_at is None or polled_at < started_at)

    def _is_watched(self, now: datetime) -> bool:
        """Returns whether a watcher looks after this project. It skips a project for a while after a failure.

        `watched_until` is None while repairs are held.
        """
        return is_watch_alive(self.watched_until, now) and not self.reconcile_failures

    @property
    def status(self) -> Status:
        return derive_status(self.facts())
