"""What the engine in memory keeps (containers, volumes, images, events), and how a container changes its state."""

import threading
from datetime import UTC, datetime

from containers.errors import EngineRefusedError, ImageMissingError, NameTakenError, SupersededError
from containers.vocabulary import GENERATION_LABEL, AgentReport, ContainerSpec, ContainerState, EngineEvent, Health
from tests.fakes.memory_container import MemoryContainer


class ContainerStore:
    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self.reset()

    def reset(self) -> None:
        """Back to no containers and one image."""
        with self._changed:
            self.containers: dict[str, MemoryContainer] = {}
            self.volumes: set[str] = set()
            self.volumes_since = datetime.now(UTC)
            self.images: set[str] = {"berth/assistant:latest"}
            self.ready_after_deploy = True
            self.ignores_sigterm: set[str] = set()
            self._events: list[tuple[EngineEvent, dict[str, str]]] = []
            self._changed.notify_all()

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

    def _is_kept(self, container: MemoryContainer) -> bool:
        return self.containers.get(container.name) is container
