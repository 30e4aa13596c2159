"""A container of the engine in memory."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from containers.agent_reports import health_after
from containers.engine.lists import is_as_listed
from containers.gateway.vocabulary import ADDRESS_LABEL
from containers.identity import is_ours
from containers.vocabulary import (
    PROJECT_LABEL,
    AgentReport,
    ContainerSpec,
    ContainerState,
    Health,
    Observation,
)


@dataclass
class MemoryContainer:
    """One container and everything that tests check."""

    name: str
    labels: dict[str, str]
    spec: ContainerSpec | None = None
    container_id: str = field(default_factory=lambda: secrets.token_hex(32))
    state: ContainerState = ContainerState.CREATED
    health: Health = Health.NONE
    exit_code: int | None = None
    oom_killed: bool = False
    restart_count: int = 0
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    finished_at: datetime | None = None
    report: AgentReport | None = None
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    image_id: str = ""
    has_reported: bool = False
    """Since the last health check."""
    lines: list[tuple[datetime, str]] = field(default_factory=list)
    is_silent: bool = False
    has_drifted: bool = False
    listed_as: ContainerState | None = None
    """The state that the list still shows while the engine takes the container down."""
    written: Observation | None = None
    """The state that the list shows while the engine cannot save changes."""

    @property
    def is_ours(self) -> bool:
        return is_ours(self.labels)

    @property
    def key(self) -> str:
        return self.labels.get(PROJECT_LABEL, "")

    def is_made_by(self, spec: ContainerSpec) -> bool:
        """Whether a deploy of this spec leaves it as it is."""
        is_there = self.labels.get(ADDRESS_LABEL) == spec.address
        return is_there and self.observation.generation == spec.generation

    @property
    def is_up(self) -> bool:
        return self.observation.is_up

    @property
    def observation(self) -> Observation:
        found = self.without_report
        if not self.has_reported or self.report is None:
            return found
        return replace(found, health=health_after(self.report, before=found))

    @property
    def without_report(self) -> Observation:
        """The container without the report's effect on its health."""
        return replace(
            self.briefly,
            state=self.state,
            health=self.health,
            has_drifted=self.has_drifted,
            exit_code=self.exit_code,
            oom_killed=self.oom_killed,
            restart_count=self.restart_count,
            image_id=self.image_id,
            started_at=self.started_at,
            finished_at=self.finished_at,
            report=self.report,
        )

    @property
    def briefly(self) -> Observation:
        """The details of a list call: only state and health."""
        return self.written or Observation(
            name=self.name,
            container_id=self.container_id,
            labels=dict(self.labels),
            state=self.listed_as or self.state,
            health=self.health,
            created_at=self.created_at,
            has_drifted=self.has_drifted,
        )

    def is_run(self, *, since: datetime | None) -> bool:
        """Whether it runs without a health check, as far as a list says, and this run can have begun then."""
        listed = self.briefly
        is_unchecked = (listed.state, listed.health) == (ContainerState.RUNNING, Health.NONE)
        return is_unchecked and not self.is_silent and since is not None and since == self.started_at

    def tell(self, *, believed: bool) -> Observation:
        """The same for one that is plainly up and healthy; of any other also what an inspection says. Unless the list
        is `believed`, it has to be up and healthy in truth.

        Of one for which the engine is stuck it knows these too, and says that it is.
        """
        if self.is_silent:
            return replace(self.observation, is_silent=True)
        brief = self.written or self.without_report
        is_plain = brief.state is ContainerState.RUNNING and brief.health is Health.HEALTHY
        return self.briefly if is_plain and (believed or is_as_listed(self.without_report, brief)) else self.observation
