"""The contents of the engine in memory (containers, volumes, images, events), and how a container's state changes."""

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from containers.errors import EngineRefusedError, ImageMissingError, NameTakenError, SupersededError
from containers.hardening import container_labels
from containers.identity import container_name, is_former, is_labelled, is_ours
from containers.vocabulary import (
    GENERATION_LABEL,
    INSTALLATION_LABEL,
    INSTANCE_LABEL,
    PROJECT_LABEL,
    QUARANTINE_LABEL,
    AgentReport,
    ContainerSpec,
    ContainerState,
    DiskUse,
    EngineEvent,
    Health,
    Observation,
)
from tests.fakes.memory_container import MemoryContainer


class ContainerStore:
    disks: dict[str, DiskUse]
    find_image: Callable[[str], str | None]

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self.reset()

    def reset(self) -> None:
        with self._changed:
            self.containers: dict[str, MemoryContainer] = {}
            self.volumes: set[str] = set()
            self.volume_labels: dict[str, dict[str, str]] = {}
            self.states: dict[str, bytes] = {}  # what a volume holds, as a tar archive
            self.volumes_since = datetime.now(UTC)
            self.images: set[str] = {"berth/assistant:latest"}
            self.since: datetime | None = datetime.now(UTC)
            self.ready_after_deploy = True
            self.dies_at_start: dict[str, int] = {}
            self.ignores_sigterm: set[str] = set()
            self._events: list[tuple[EngineEvent, dict[str, str]]] = []
            self._reports: list[str] = []
            self._changed.notify_all()

    def _find(self, key: str) -> MemoryContainer | None:
        return next(iter(self._find_all(key)), None)

    def _find_all(self, key: str) -> list[MemoryContainer]:
        """Returns our containers of this key, first the one that determines the state."""
        found = [each for each in self.containers.values() if each.key == key and each.is_ours]
        return sorted(found, key=lambda each: each.observation.rank, reverse=True)

    def _settle_name(self, spec: ContainerSpec, retire: Callable[[Observation], None]) -> MemoryContainer:
        """Returns the key's current container, either adopted or created after an older one was removed."""
        with self._changed:
            self._free_name(spec)
            found = [each for each in self.containers.values() if each.key == spec.key or each.name == spec.name]
            found.sort(key=lambda each: each.observation.rank, reverse=True)
            for each in found:
                self._check(each, spec)
            kept = [each for each in found if each.is_made_by(spec)]
            if kept:
                for each in found:
                    if each is not kept[0]:
                        self._stop(each)
                        self._remove(each)
                kept[0].has_drifted = False
                return kept[0]
            image_id = self.find_image(spec.image)
            if image_id is None:
                raise ImageMissingError(f"The image {spec.image} is not on the engine.")
            for each in found:
                before = each.observation
                self._stop(each)
                if before.state is not ContainerState.CREATED:
                    retire(before)
                self._remove(each)
            labels = container_labels(spec)
            container = MemoryContainer(spec.name, labels, spec, secrets=dict(spec.secrets), image_id=image_id)
            self.containers[spec.name] = container
            self._make_volumes(spec.name, labels)
            self._emit(container, "create")
            return container

    def _free_name(self, spec: ContainerSpec) -> None:
        """Gives the container of another one of our agents its own name again."""
        taken = self.containers.get(spec.name)
        if taken is not None and is_labelled(taken.labels) and taken.key and taken.key != spec.key:
            del self.containers[spec.name]
            own = container_name(taken.key)
            taken.name = f"{own}-{taken.container_id[:8]}" if own in self.containers else own
            self.containers[taken.name] = taken

    def _check(self, found: MemoryContainer, spec: ContainerSpec) -> None:
        """Raises if a deploy may not replace the container."""
        if found.labels.get(INSTANCE_LABEL) != spec.labels[INSTANCE_LABEL] and found.name != spec.name:
            return  # another instance may have the same keys
        ignored = {GENERATION_LABEL} | ({INSTALLATION_LABEL} if is_former(found.labels) else set())
        if any(found.labels.get(label) != value for label, value in spec.labels.items() if label not in ignored):
            raise NameTakenError(f"A container that is not ours is called {found.name}.")
        if found.observation.generation > spec.generation:
            raise SupersededError("A newer deploy has happened.")

    def _make_volumes(self, name: str, labels: dict[str, str]) -> None:
        """Writes the credentials again, and creates the state if this key has none yet."""
        states = {volume for volume in self._volumes_of(labels[PROJECT_LABEL]) if volume.endswith("-data")}
        if any(not is_ours(self.volume_labels[volume]) for volume in states):
            raise EngineRefusedError("The agent's state belongs to another installation.")
        self._drop_volumes(volume for volume in self._volumes_of(labels[PROJECT_LABEL]) if volume.endswith("-secrets"))
        for volume in {f"{name}-secrets"} | (set() if states else {f"{name}-data"}):
            self.volumes.add(volume)
            self.volume_labels[volume] = labels

    def _volumes_of(self, key: str) -> set[str]:
        labels = self.volume_labels
        return {volume for volume in self.volumes if labels.get(volume, {}).get(PROJECT_LABEL) == key}

    def _drop_volumes(self, volumes: Iterable[str]) -> None:
        """Removes the volumes that are ours."""
        for volume in [each for each in volumes if is_ours(self.volume_labels.get(each, {}))]:
            self.volumes.discard(volume)
            self.states.pop(volume, None)
            if volume.endswith("-data"):
                self.disks.pop(self.volume_labels[volume].get(PROJECT_LABEL, ""), None)

    def _undo(self, container: MemoryContainer, new_volumes: set[str]) -> None:
        """Removes what a deploy created and did not start, unless a newer container has replaced it."""
        with self._changed:
            if container.state is ContainerState.CREATED and self.containers.get(container.name) is container:
                self._remove(container)
                self._drop_volumes(each for each in new_volumes if self.volume_labels.get(each) == container.labels)

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
            if container.name in self.dies_at_start:
                self._end(container, self.dies_at_start[container.name], ContainerState.EXITED)

    def _stop(self, container: MemoryContainer) -> None:
        if container.state is ContainerState.RESTARTING:
            container.state = ContainerState.EXITED
        elif container.is_up:
            container.report = AgentReport(state="stopped")
            self._emit(container, "kill")
            self._end(container, 137 if container.name in self.ignores_sigterm else 0, ContainerState.EXITED)
            self._emit(container, "stop")

    def _keep(self, container: MemoryContainer) -> None:
        """Replaces it with a container that only keeps the state."""
        if QUARANTINE_LABEL in container.labels:
            return
        self._remove(container)
        if any(volume.endswith("-data") for volume in self._volumes_of(container.key)):
            labels = {**container.labels, QUARANTINE_LABEL: datetime.now(UTC).isoformat(timespec="seconds")}
            self.containers[container.name] = MemoryContainer(name=container.name, labels=labels)

    def _end(self, container: MemoryContainer, exit_code: int, state: ContainerState) -> None:
        container.state, container.exit_code, container.finished_at = state, exit_code, datetime.now(UTC)
        container.health = Health.UNHEALTHY if container.health is not Health.NONE else Health.NONE
        self._emit(container, "die")

    def _remove(self, container: MemoryContainer) -> None:
        if self.containers.get(container.name) is container:
            del self.containers[container.name]
            self._emit(container, "destroy")

    def _emit(self, container: MemoryContainer, action: str) -> None:
        exit_code, now = container.exit_code if action == "die" else None, datetime.now(UTC)
        container_id = container.container_id
        event = EngineEvent(key=container.key, action=action, at=now, container_id=container_id, exit_code=exit_code)
        self._events.append((event, dict(container.labels)))
        self._changed.notify_all()
