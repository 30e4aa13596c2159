"""The data types and labels that Berth and a container engine share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from containers.agent_contract import AGENT_USER
from containers.gateway.vocabulary import Reach

INSTANCE_LABEL = "berth.instance"
"""The label with the value of `BERTH_INSTANCE`."""
INSTALLATION_LABEL = "berth.installation"
"""The label with the installation's id. Objects from before there were ids lack it (`containers.identity`)."""
PROJECT_LABEL = "berth.project"
"""The label with the key of the project that a container or volume belongs to. The engine finds both by it."""
GENERATION_LABEL = "berth.generation"
"""The label with the number of the deploy that created the container. Later deploys have higher numbers."""
USER_LABEL = "berth.user"
"""The label with the number of the agent's user, who owns its state. Older containers lack it."""
QUARANTINE_LABEL = "berth.quarantined"
"""The label of a container that only preserves the state of an agent of no known project: the time of quarantine."""


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    EXITED = "exited"
    REMOVING = "removing"
    DEAD = "dead"


class Health(StrEnum):
    """The result of the image's health check; `NONE` if the image has none."""

    NONE = "none"
    STARTING = "starting"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """The newest `AGENT-STATUS` of an agent. `paired` is the number of paired people, or None if it does not say."""

    state: str
    code: str = ""
    detail: str = ""
    paired: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """Everything that defines an agent's container. Equal specs make equal containers.

    `memory` is in bytes, `nano_cpus` in billionths of a core, `stop_timeout` in seconds. `secrets` maps file names
    under /run/secrets to their contents; `environment` contains no secrets. `user` is the number of the user and group
    that the agent runs as and that own its state. `disk_ceiling` limits a new volume of its state in bytes, if the
    engine can enforce that; 0 means no limit. `address` is its fixed address on the agents' network, valid for this
    `reach` by `AgentsNetwork.has`; an agent without one uses no gateway. `plan` may choose its machine. `is_first`: its
    key was never used. `has_state`: an agent of this key ran with this `user`, and its state was not lost or cleared.
    `well_since`: when its last run began, if the agent reported that it worked then.
    """

    name: str
    image: str
    labels: Mapping[str, str]
    generation: int
    environment: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    memory: int
    nano_cpus: int
    pids: int
    stop_timeout: int
    user: int = AGENT_USER
    disk_ceiling: int = 0
    address: str | None = None
    reach: Reach = Reach.INTERNET
    plan: str = ""
    is_first: bool = field(default=False, compare=False)
    has_state: bool = field(default=False, compare=False)
    well_since: datetime | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The key of the project that the container belongs to."""
        return self.labels[PROJECT_LABEL]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One container as the engine described it. Times are aware UTC; `exit_code` is None while it runs.

    `health` comes from the last health check, or from the agent's report if that is newer. `inspect` fills in every
    field. For a running and healthy container, `observe` leaves out `restart_count`, `started_at`, `finished_at`,
    `oom_killed`, `report` and `image_id`. `is_silent`: the engine gives only its name, id and labels. `has_slow_log`:
    `report` may be out of date. `has_drifted`: someone changed its networks, limits, privileges or restart policy.
    `is_hearsay`: the engine will say more about its end later. `mounts`: its volumes by path, if inspected as the only
    one of its key. `node`: its machine, if several. `up_for`: its age in seconds, if a list says less than a minute.
    """

    name: str
    container_id: str
    labels: Mapping[str, str]
    state: ContainerState
    health: Health = Health.NONE
    exit_code: int | None = None
    oom_killed: bool | None = None
    restart_count: int | None = None
    image_id: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    report: AgentReport | None = None
    is_silent: bool = False
    has_slow_log: bool = field(default=False, compare=False)
    has_drifted: bool = False
    is_hearsay: bool = False
    mounts: Mapping[str, str] | None = field(default=None, compare=False)
    up_for: int | None = field(default=None, compare=False)
    node: str = ""

    @property
    def key(self) -> str:
        """The key of the project that the container belongs to; empty if the label is missing."""
        return self.labels.get(PROJECT_LABEL, "")

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Of several containers with one key, the one with the highest rank decides the state."""
        return self.is_up, self.generation, self.created_at.timestamp() if self.created_at else 0.0

    @property
    def generation(self) -> int:
        """The number of the deploy that created it; 0, older than any deploy, if the label is not a number."""
        label = self.labels.get(GENERATION_LABEL, "")
        return int(label) if label.isdecimal() and len(label) < 10 else 0

    @property
    def is_brief(self) -> bool:
        """Whether it has no more information than a list of containers gives."""
        return self.oom_killed is None

    @property
    def is_complete(self) -> bool:
        """Whether every field that matters is filled in. For a running and healthy container, the list is enough."""
        return not self.is_brief or (self.state is ContainerState.RUNNING and self.health is Health.HEALTHY)

    @property
    def is_up(self) -> bool:
        """Whether processes of the container may be alive. Those of a paused container are."""
        return self.state in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A volume of an agent: its state, or its credentials."""

    name: str
    labels: Mapping[str, str]
    created_at: datetime | None = None

    @property
    def key(self) -> str:
        """The key of the project that the volume belongs to; empty if the label is missing."""
        return self.labels.get(PROJECT_LABEL, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A container's current usage. All in bytes except `cpu_percent` (100 is one core) and `pids`. None: unknown."""

    cpu_percent: float
    memory: int
    memory_limit: int
    network_received: int | None
    network_sent: int | None
    pids: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """An agent's disk use: bytes, and the number of files, folders and links. `is_part`: it uses at least that much."""

    used: int
    files: int
    is_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """An event of the container of this key: the engine's name for it, and for `die` also the exit code."""

    key: str
    action: str
    at: datetime
    container_id: str = ""
    exit_code: int | None = None
