"""An engine that keeps its containers in memory, with dials for everything that can go wrong.

It keeps every promise of `containers.engine.Engine` (the contract tests run against it as against Docker), so a test
that needs no kernel uses it instead of Docker. Reach it with `get_engine()`; call `reset()` between tests.

Verbs and the steps inside `deploy` that `fail`, `lose` and `slow` know: ping, secure, image_exists, deploy,
deploy.create, deploy.confirm, deploy.start, stop, remove, inspect, observe, kept, logs, stats, events.
"""

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from django.conf import settings

from containers.engine import (
    GENERATION_LABEL,
    INSTANCE_LABEL,
    AgentReport,
    ContainerSpec,
    ContainerState,
    EngineEvent,
    Health,
    Observation,
    Usage,
)
from containers.errors import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ImageMissingError,
    NameTakenError,
    SupersededError,
)

Hook = Callable[[], object] | threading.Event
HOOK_LIMIT = 30.0
"""Seconds after which a forgotten `threading.Event` no longer holds a verb."""


@dataclass
class MemoryContainer:
    """One container and everything a test may want to look at."""

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
    lines: list[tuple[datetime, str]] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return self.labels.get(INSTANCE_LABEL) == settings.BERTH_INSTANCE

    @property
    def is_up(self) -> bool:
        return self.observation.is_up

    @property
    def observation(self) -> Observation:
        return Observation(
            name=self.name,
            container_id=self.container_id,
            labels=dict(self.labels),
            state=self.state,
            health=self.health,
            exit_code=self.exit_code,
            oom_killed=self.oom_killed,
            restart_count=self.restart_count,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            report=self.report,
        )

    @property
    def listed(self) -> Observation:
        """What a list call says: nothing beyond state and health for one that is plainly up and healthy."""
        if self.state is ContainerState.RUNNING and self.health is Health.HEALTHY:
            return replace(
                self.observation, oom_killed=None, restart_count=None, started_at=None, finished_at=None, report=None
            )
        return self.observation


class MemoryEngine:
    """The engine in memory. All dials may be turned from any thread at any time."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self.reset()

    # -- dials --------------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """Back to an empty, healthy engine that knows one image."""
        with self._changed:
            self.containers: dict[str, MemoryContainer] = {}
            self.volumes: set[str] = set()
            self.volumes_since = datetime.now(UTC)
            self.images: set[str] = {"berth/assistant:latest"}
            self.calls: list[tuple[str, str]] = []
            self.unavailable = False
            self.insecurity: str | None = None
            self.ready_after_deploy = True
            self.ignores_sigterm: set[str] = set()
            self.silence = 15.0
            self.usage = Usage(
                cpu_percent=1.5,
                memory=48 << 20,
                memory_limit=256 << 20,
                network_received=2048,
                network_sent=1024,
                pids=3,
            )
            self._events: list[tuple[EngineEvent, dict[str, str]]] = []
            self._failures: dict[str, list[EngineError]] = defaultdict(list)
            self._lost: dict[str, int] = defaultdict(int)
            self._hooks: dict[str, Hook] = {}
            self._changed.notify_all()

    def fail(self, verb: str, error: EngineError | type[EngineError], *, times: int = 1) -> None:
        """The next `times` calls of the verb (or step) raise the error and do nothing."""
        made = error("The engine failed because a test asked for it.") if isinstance(error, type) else error
        with self._changed:
            self._failures[verb] += [made] * times

    def fail_start_after_create(self, error: EngineError | None = None) -> None:
        """The next deploy makes its container and then cannot start it."""
        self.fail("deploy.start", error or EngineRefusedError("The engine could not start the container."))

    def lose(self, verb: str, *, times: int = 1) -> None:
        """The next `times` calls are carried out, and then their answer is lost (`EngineUnavailableError`)."""
        with self._changed:
            self._lost[verb] += times

    def slow(self, verb: str, hook: Hook | None) -> None:
        """Run `hook` inside every call of the verb (or wait for the event), before it acts; None takes it away."""
        with self._changed:
            if hook is None:
                self._hooks.pop(verb, None)
            else:
                self._hooks[verb] = hook

    def foreign(self, name: str, *, labels: Mapping[str, str] | None = None) -> MemoryContainer:
        """Place a running container that is not ours."""
        with self._changed:
            self.containers[name] = container = MemoryContainer(name=name, labels=dict(labels or {}))
            container.state, container.started_at = ContainerState.RUNNING, datetime.now(UTC)
            return container

    def crash(self, name: str, *, exit_code: int = 1, oom: bool = False, restarting: bool = False) -> None:
        """The container's process dies; with `restarting` the restart policy is waiting to start it again."""
        with self._changed:
            container = self.containers[name]
            container.oom_killed = oom
            container.restart_count += 1 if restarting else 0
            if oom:
                self._emit(container, "oom")
            self._end(container, exit_code, ContainerState.RESTARTING if restarting else ContainerState.EXITED)

    def exit(self, name: str, exit_code: int = 0) -> None:
        """The container's process ends by itself, and the restart policy leaves it."""
        self.crash(name, exit_code=exit_code)

    def pause(self, name: str) -> None:
        with self._changed:
            self.containers[name].state = ContainerState.PAUSED
            self._emit(self.containers[name], "pause")

    def vanish(self, name: str) -> None:
        """Somebody removed the container behind our back."""
        with self._changed:
            self._emit(self.containers.pop(name), "destroy")

    def report(self, name: str, state: str, code: str = "", detail: str = "") -> None:
        """The agent prints a status line."""
        with self._changed:
            self.containers[name].report = AgentReport(state=state, code=code, detail=detail)

    def set_health(self, name: str, health: Health) -> None:
        with self._changed:
            self.containers[name].health = health
            self._emit(self.containers[name], f"health_status: {health}")

    def log(self, name: str, line: str) -> None:
        """The agent prints a line."""
        with self._changed:
            self.containers[name].lines.append((datetime.now(UTC), line))
            self._changed.notify_all()

    def secrets_of(self, name: str) -> dict[str, str]:
        """The files under /run/secrets of the container."""
        with self._changed:
            return dict(self.containers[name].secrets)

    # -- the protocol -------------------------------------------------------------------------------------------------
    def ping(self) -> None:
        self._enter("ping")

    def read_deadline(self) -> AbstractContextManager[None]:
        return nullcontext()

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def ensure_firewall(self) -> str | None:
        self._enter("secure")
        return self.insecurity

    def image_exists(self, image: str) -> bool:
        self._enter("image_exists", image)
        return image in self.images

    def deploy(self, spec: ContainerSpec, *, confirm: Callable[[], bool]) -> Observation:
        self._enter("deploy", spec.name)
        with self._changed:
            new_volumes = {f"{spec.name}-data", f"{spec.name}-secrets"} - self.volumes
        self._step("deploy.create")
        container = self._settle_name(spec)
        try:
            if not container.is_up:
                self._step("deploy.confirm")
                if not confirm():
                    raise SupersededError("A newer command took the place of this deploy.")
                self._step("deploy.start")
                self._start(container)
        except EngineError:
            self._undo(container, new_volumes)
            raise
        self._answer("deploy")
        return container.observation

    def stop(self, name: str, *, timeout: int) -> None:
        self._enter("stop", name)
        with self._changed:
            if container := self._ours(name):
                self._stop(container)
        self._answer("stop")

    def remove(self, name: str, *, volumes: bool = False) -> None:
        self._enter("remove", name)
        with self._changed:
            container = self.containers.get(name)
            if container and container.is_ours:
                self._remove(container)
            if volumes:
                self.volumes -= {f"{name}-data", f"{name}-secrets"}
        self._answer("remove")

    def inspect(self, name: str) -> Observation | None:
        self._enter("inspect", name)
        with self._changed:
            container = self._ours(name)
            return container.observation if container else None

    def observe(self, within: Mapping[str, str]) -> list[Observation]:
        self._enter("observe")
        with self._changed:
            return [
                container.listed
                for container in self.containers.values()
                if container.is_ours and within.items() <= container.labels.items()
            ]

    def list_volumes(self, within: Mapping[str, str]) -> dict[str, datetime]:
        self._enter("kept")
        with self._changed:
            names = {volume.rpartition("-")[0] for volume in self.volumes}
            return {name: self.volumes_since for name in names if name.startswith(f"{settings.BERTH_INSTANCE}-")}

    def logs(
        self, name: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False
    ) -> Iterator[bytes]:
        self._enter("logs", name)
        with self._changed:
            container = self._ours(name)
            if container is None:
                return iter(())
            lines = [line for line in container.lines if since is None or line[0] >= since]
            seen = len(container.lines)
        head = lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]
        return self._read(container, head, seen) if follow else (_stamped(line) for line in head)

    def stats(self, name: str) -> Usage | None:
        self._enter("stats", name)
        with self._changed:
            container = self._ours(name)
            return self.usage if container and container.state is ContainerState.RUNNING else None

    def events(self, within: Mapping[str, str], *, timeout: float) -> Iterator[EngineEvent]:
        self._enter("events")
        with self._changed:
            return self._listen(dict(within), timeout, len(self._events))

    # -- inside -------------------------------------------------------------------------------------------------------
    def _enter(self, verb: str, name: str = "") -> None:
        with self._changed:
            self.calls.append((verb, name))
        self._step(verb)

    def _step(self, step: str) -> None:
        """Run the hook of this step outside the lock, then fail if the dials say so."""
        hook = self._hooks.get(step)
        if isinstance(hook, threading.Event):
            hook.wait(HOOK_LIMIT)
        elif hook is not None:
            hook()
        with self._changed:
            if self.unavailable:
                raise EngineUnavailableError("The container engine does not answer.")
            if self._failures[step]:
                raise self._failures[step].pop(0)

    def _answer(self, verb: str) -> None:
        with self._changed:
            if self._lost[verb]:
                self._lost[verb] -= 1
                raise EngineUnavailableError("The container engine did not answer in time.")

    def _ours(self, name: str) -> MemoryContainer | None:
        container = self.containers.get(name)
        return container if container and container.is_ours else None

    def _settle_name(self, spec: ContainerSpec) -> MemoryContainer:
        """The container that carries the name now: adopted, or made after an older one went."""
        with self._changed:
            found = self.containers.get(spec.name)
            if found:
                if any(found.labels.get(k) != v for k, v in spec.labels.items() if k != GENERATION_LABEL):
                    raise NameTakenError(f"A container that is not ours is called {spec.name}.")
                if found.observation.generation > spec.generation:
                    raise SupersededError("A newer deploy has happened.")
                if found.observation.generation == spec.generation:
                    return found
            if spec.image not in self.images:
                raise ImageMissingError(f"The image {spec.image} is not on the engine.")
            if found:
                self._stop(found)
                self._remove(found)
            labels = {**spec.labels, GENERATION_LABEL: str(spec.generation)}
            container = MemoryContainer(name=spec.name, labels=labels, spec=spec, secrets=dict(spec.secrets))
            self.containers[spec.name] = container
            self.volumes |= {f"{spec.name}-data", f"{spec.name}-secrets"}
            self._emit(container, "create")
            return container

    def _undo(self, container: MemoryContainer, new_volumes: set[str]) -> None:
        """Take away what a deploy made and did not start."""
        with self._changed:
            if container.state is ContainerState.CREATED:
                self._remove(container)
                self.volumes -= new_volumes

    def _start(self, container: MemoryContainer) -> None:
        with self._changed:
            if self.containers.get(container.name) is not container:
                raise EngineRefusedError("The container was removed before it could start.")
            container.state, container.exit_code, container.oom_killed = ContainerState.RUNNING, None, False
            container.restart_count, container.started_at = 0, datetime.now(UTC)
            ready = self.ready_after_deploy
            container.health = Health.HEALTHY if ready else Health.STARTING
            container.report = AgentReport(state="running" if ready else "starting")
            self._emit(container, "start")

    def _stop(self, container: MemoryContainer) -> None:
        if container.state is ContainerState.RESTARTING:
            container.state = ContainerState.EXITED
        elif container.is_up:
            container.report = AgentReport(state="stopped")
            self._end(container, 137 if container.name in self.ignores_sigterm else 0, ContainerState.EXITED)
            self._emit(container, "stop")

    def _end(self, container: MemoryContainer, exit_code: int, state: ContainerState) -> None:
        container.state, container.exit_code, container.finished_at = state, exit_code, datetime.now(UTC)
        container.health = Health.UNHEALTHY if container.health is not Health.NONE else Health.NONE
        self._emit(container, "die")

    def _remove(self, container: MemoryContainer) -> None:
        if self.containers.get(container.name) is container:
            del self.containers[container.name]
            self._emit(container, "destroy")

    def _emit(self, container: MemoryContainer, action: str) -> None:
        event = EngineEvent(name=container.name, action=action, at=datetime.now(UTC))
        self._events.append((event, dict(container.labels)))
        self._changed.notify_all()

    def _read(self, container: MemoryContainer, head: list[tuple[datetime, str]], seen: int) -> Iterator[bytes]:
        yield from (_stamped(line) for line in head)
        while True:
            with self._changed:
                if len(container.lines) == seen and container.is_up and self._is_kept(container):
                    self._changed.wait(self.silence)
                fresh, seen = container.lines[seen:], len(container.lines)
                goes_on = container.is_up and self._is_kept(container)
            yield from (_stamped(line) for line in fresh)
            if not goes_on:
                return
            if not fresh:
                yield b""

    def _is_kept(self, container: MemoryContainer) -> bool:
        return self.containers.get(container.name) is container

    def _listen(self, within: dict[str, str], timeout: float, seen: int) -> Iterator[EngineEvent]:
        until = time.monotonic() + timeout
        while True:
            with self._changed:
                if len(self._events) <= seen and not self._changed.wait(max(0.0, until - time.monotonic())):
                    return
                fresh, seen = self._events[seen:], len(self._events)
            for event, labels in fresh:
                if within.items() <= labels.items():
                    yield event
                    until = time.monotonic() + timeout
            if time.monotonic() >= until:
                return


def _stamped(line: tuple[datetime, str]) -> bytes:
    return f"{line[0].isoformat().replace('+00:00', 'Z')} {line[1]}".encode()
