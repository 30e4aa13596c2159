"""The words in which Berth and a container engine speak of containers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from containers.agent_contract import AGENT_USER
from containers.gateway.words import Reach

INSTANCE_LABEL = "berth.instance"
"""The label that holds `BERTH_INSTANCE`."""

INSTALLATION_LABEL = "berth.installation"
"""The label that holds the installation's id. What was made before there were ids lacks it (`containers.identity`)."""

PROJECT_LABEL = "berth.project"
"""The label that says what a container or volume belongs to. Its value is the key by which the engine finds both."""

GENERATION_LABEL = "berth.generation"
"""The label that holds the number of the deploy that made the container. Later deploys have higher numbers."""

USER_LABEL = "berth.user"
"""The label that holds the number of the agent's user, whose its state is. What was made before it lacks it."""

QUARANTINE_LABEL = "berth.quarantined"
"""The label of a container that only holds on to the state of an agent of no known project: the time since when."""


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    EXITED = "exited"
    REMOVING = "removing"
    DEAD = "dead"


class Health(StrEnum):
    """The verdict of the image's health check; `NONE` where it has none."""

    NONE = "none"
    STARTING = "starting"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """The newest `AGENT-STATUS` of an agent. `paired` is how many people it is paired with; None: it does not say."""

    state: str
    code: str = ""
    detail: str = ""
    paired: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """Everything from which an agent's container is made. Equal specs make equal containers.

    `memory` is in bytes, `nano_cpus` in billionths of a core, `stop_timeout` in seconds. `secrets` maps a file name
    under /run/secrets to its content, `environment` holds nothing secret. `user` is the number of the user and of the
    group as whom it runs, and whose its state is. `disk_ceiling` is how many bytes a new volume of its state holds at
    most, where the engine can; 0 is no limit. `address` is its own on the agents' network, one that `AgentsNetwork.has`
    for this `reach`; none: it knows no gateway. `plan` may choose its machine. `is_first`: its key has never been used.
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

    @property
    def key(self) -> str:
        """What the container belongs to."""
        return self.labels[PROJECT_LABEL]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One container as the engine described it. Times are aware UTC; `exit_code` is None while it runs.

    `health` is that of the last health check, or of what the agent has reported since. `inspect` fills in every field.
    `observe` leaves out `restart_count`, `started_at`, `finished_at`, `oom_killed`, `report` and `image_id` for a
    container that is running and healthy. `is_silent`: the engine answers for others, and says of this its name, id and
    labels alone. `has_drifted`: somebody changed its networks, limits or privileges, or who starts it again.
    `is_hearsay`: the engine will say more of how it ended. `mounts`: its volumes by their paths, where it was inspected
    as the only one of its key. `node`: its machine, of several.
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
    has_drifted: bool = False
    is_hearsay: bool = False
    mounts: Mapping[str, str] | None = field(default=None, compare=False)
    node: str = ""

    @property
    def key(self) -> str:
        """What the container belongs to; empty where the label is missing."""
        return self.labels.get(PROJECT_LABEL, "")

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Of several containers with one key, the one with the highest rank tells the state."""
        return self.is_up, self.generation, self.created_at.timestamp() if self.created_at else 0.0

    @property
    def generation(self) -> int:
        """The number of the deploy that made it; 0, older than any deploy, where the label is no such number."""
        label = self.labels.get(GENERATION_LABEL, "")
        return int(label) if label.isdecimal() and len(label) < 10 else 0

    @property
    def is_brief(self) -> bool:
        """Whether it says no more than a list of containers does."""
        return self.oom_killed is None

    @property
    def is_complete(self) -> bool:
        """Whether every field is filled in that counts: of what is running and healthy the list says enough."""
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
        """What the volume belongs to; empty where the label is missing."""
        return self.labels.get(PROJECT_LABEL, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a container uses now. All in bytes except `cpu_percent` (100 is one core) and the count `pids`."""

    cpu_percent: float
    memory: int
    memory_limit: int
    network_received: int
    network_sent: int
    pids: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """What an agent's state takes on the disk, and how many files, folders and links. `is_part`: at least that much."""

    used: int
    files: int
    is_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """Something that happened to the container of this key: the engine's word, and with `die` also the exit code."""

    key: str
    action: str
    at: datetime
    container_id: str = ""
    exit_code: int | None = None
