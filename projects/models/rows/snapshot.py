"""The status of a project and everything that follows from it, at one moment."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from projects.models.project import Project
from projects.rules.budget import Spent, UsageFacts, describe_budget, describe_spent
from projects.rules.periods import Period
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.reasons import StatusReason
from projects.rules.status.statuses import Status


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The status of a project and everything that follows from it, all derived from the facts of one moment.

    A page or a response takes one snapshot and reads nothing else. A status that is derived twice may differ, because
    an observation that was fresh the first time may be too old the second time.
    """

    project: Project
    facts: Facts

    @cached_property
    def status(self) -> Status:
        return derive_status(self.facts)

    @cached_property
    def reason(self) -> StatusReason | None:
        reason = self.project.explain(self.facts)
        if reason is None:
            return None
        return StatusReason(
            code=reason.code,
            message=reason.message,
            exit_code=self.facts.exit_code,
            oom_killed=self.project.oom_killed,
            at=self.project.failed_at or self.project.finished_at,
            log_tail=self.project.log_tail.splitlines(),
        )

    @cached_property
    def usage(self) -> UsageFacts:
        """The usage at the moment of the facts. A day or month that is over counts as zero."""
        spending, now = self.project.known_spending, self.facts.now
        today, month = (spending.spent(period, now) if spending else Spent() for period in (Period.DAY, Period.MONTH))
        return UsageFacts(
            today=describe_spent(today), month=describe_spent(month), budget=describe_budget(self.project.budget)
        )

    @property
    def checked_at(self) -> datetime | None:
        """The last moment at which the facts were true of the engine."""
        return self.facts.checked_at

    @cached_property
    def last_known_status(self) -> Status:
        """The status as of `checked_at`, which is shown while the engine does not answer."""
        return derive_status(self.project.facts(self.checked_at or self.project.observed_at or self.facts.now))


def take_snapshot(project: Project, *, now: datetime | None = None) -> Snapshot:
    return Snapshot(project=project, facts=project.facts(now))
