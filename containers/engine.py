"""What Berth asks of a container engine: the protocol, its vocabulary and its errors.

Every verb states what is true afterwards, so that each can be repeated: a missing container is success for
`stop` and `remove`, and a `deploy` that already happened is adopted. An engine never guesses: where it does not
know, it raises `EngineUnavailableError`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

INSTANCE_LABEL = "berth.instance"
"""Label with the value of `BERTH_INSTANCE`. Nothing without it is ever touched."""

GENERATION_LABEL = "berth.generation"
"""Label with the number of the deploy that made the container; a higher one is newer."""


class EngineError(Exception):
    """The engine did not do what was asked. The message is a sentence for people and holds no secret."""


class EngineUnavailableError(EngineError):
    """The engine did not answer, or not in time: what is true of the container is unknown."""


class EngineRefusedError(EngineError):
    """The engine answered, and said no."""


class ImageMissingError(EngineRefusedError):
    """The image of the agent type is not on the engine. Images are never pulled inside a request."""


class NameTakenError(EngineRefusedError):
    """A container that is not ours carries the name. It is never touched."""


class SupersededError(EngineError):
    """A newer deploy of the same container has happened; this one gave up and changed nothing."""


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    EXITED = "exited"
    REMOVING = "removing"
    DEAD = "dead"


class Health(StrEnum):
    """The verdict of the image's health check; `NONE` where the image has none."""

    NONE = "none"
    STARTING = "starting"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """The newest `AGENT-STATUS` of an agent: `state` is starting, running, degraded, failed or stopped."""

    state: str
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """Everything that makes an agent's container. Equal specs make equal containers.

    `memory` is in bytes, `nano_cpus` in billionths of a core, `stop_timeout` in seconds. `secrets` maps a file
    name under /run/secrets to its content, `environment` holds nothing secret.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the engine said of one container. Times are aware UTC; `exit_code` is None while it runs.

    `restart_count`, `started_at`, `finished_at`, `oom_killed` and `report` are exact in the answer of `inspect` and
    for every container that is not plainly up and healthy. For one that is, `observe` leaves them None.
    """

    name: str
    container_id: str
    labels: Mapping[str, str]
    state: ContainerState
    health: Health = Health.NONE
    exit_code: int | None = None
    oom_killed: bool | None = None
    restart_count: int | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    report: AgentReport | None = None

    @property
    def generation(self) -> int:
        """Zero, which is older than any, where somebody else wrote the label."""
        label = self.labels.get(GENERATION_LABEL, "")
        return int(label) if label.isdecimal() else 0

    @property
    def is_up(self) -> bool:
        """Whether processes of the container may be alive, a pause included."""
        return self.state in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a container uses at this moment. Bytes, but for `cpu_percent` (100 is one core)."""

    cpu_percent: float
    memory: int
    memory_limit: int
    network_received: int
    network_sent: int
    pids: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """Something happened to a container: `action` is the engine's word (start, die, oom, destroy, ...)."""

    name: str
    action: str
    at: datetime


class Engine(Protocol):
    """An engine that keeps containers. All verbs raise `EngineError` and nothing else.

    `name` is the name of a container; `within` narrows a lookup to the containers that carry all these labels. Every
    verb has a time limit of its own and never waits longer than that for a silent engine.
    """

    def ping(self) -> None:
        """Afterwards the engine has answered just now."""

    def read_deadline(self) -> AbstractContextManager[None]:
        """For reads, which would rather know nothing than wait: inside, all calls of this thread get two seconds."""

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """For commands that somebody waits for: inside, all calls of this thread get so many seconds together.

        What is asked after that fails as if the engine were silent.
        """

    def ensure_firewall(self) -> str | None:
        """Afterwards agents are kept from what is near, as far as this process may see to it.

        The sentence for the operator where it may not. Whatever was there already stays.
        """

    def image_exists(self, image: str) -> bool:
        """Whether a deploy of the image could start at once."""

    def deploy(self, spec: ContainerSpec, *, confirm: Callable[[], bool]) -> Observation:
        """Afterwards a container of exactly this spec and generation has been started.

        `confirm` is asked right before the start; where it says no, what was created is removed and
        `SupersededError` is raised.

        An older generation of the same name is stopped within its stop timeout and replaced; its `/data` volume
        stays. The same generation is adopted. Raises `SupersededError` for a newer one, `NameTakenError` for a foreign
        container; after any other refusal no container of this generation is left.
        """

    def stop(self, name: str, *, timeout: int) -> None:
        """Afterwards no process of the container runs: SIGTERM, and SIGKILL after `timeout` seconds.

        Missing and already stopped are success.
        """

    def remove(self, name: str, *, volumes: bool = False) -> None:
        """Afterwards no container of ours has the name, and with `volumes` its state and secrets are gone too.

        Missing is success. A foreign container of that name is not touched (and is success: it is not ours).
        """

    def inspect(self, name: str) -> Observation | None:
        """Our container as it is now, every field exact; None only where the engine says that there is none.

        A foreign container of that name is none of ours: None.
        """

    def observe(self, within: Mapping[str, str]) -> list[Observation]:
        """Every container of this instance that carries all these labels, whatever its state, by one list call.

        One that goes meanwhile is left out. An empty list means that the engine said so, never that it did not answer.
        """

    def list_volumes(self, within: Mapping[str, str]) -> dict[str, datetime]:
        """The names under which state or secrets are kept, be there a container or not, and since when."""

    def logs(
        self, name: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False
    ) -> Iterator[bytes]:
        """The output, line by line, each with its RFC 3339 time in front; nothing where there is no container.

        With `follow` the iterator goes on until the container ends or the iterator is closed, and yields an empty
        line at least every 15 seconds of silence.
        """

    def stats(self, name: str) -> Usage | None:
        """Usage now, or None when it does not run."""

    def events(self, within: Mapping[str, str], *, timeout: float) -> Iterator[EngineEvent]:
        """Events as they happen, until `timeout` seconds pass without one."""
