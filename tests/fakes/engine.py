"""An engine in memory that keeps every promise of `containers.engine.Engine`, as the contract tests prove.

Tests that need no kernel use it instead of Docker. Get it by `get_engine()`; call `reset()` between tests.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime

from django.conf import settings

from containers.engine.images import HostFacts
from containers.engine.lists import NO_RUNS, Keys, Prefetch, Runs
from containers.errors import ContainerSilentError, EngineError, StillStoppingError, SupersededError
from containers.identity import find_spare, is_labelled, is_ours
from containers.outbound.call_limits import seconds_left, time_limit
from containers.vocabulary import (
    INSTANCE_LABEL,
    QUARANTINE_LABEL,
    ContainerSpec,
    ContainerState,
    DiskUse,
    Observation,
    Usage,
    Volume,
)
from tests.fakes.memory_gateway import RunsMemoryGateway


class MemoryEngine(RunsMemoryGateway):
    """Any thread may change its settings at any time."""

    def ping(self) -> None:
        self._enter("ping")

    def read_deadline(self) -> AbstractContextManager[None]:
        return nullcontext()

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        return time_limit(seconds)

    def ensure_firewall(self) -> str | None:
        self._enter("ensure_firewall")
        return self.firewall_warning

    def requires_firewall(self) -> bool:
        return self.firewall_required

    def probe_firewall(self) -> str | None:
        self._enter("probe_firewall")
        return self.probe_warning

    def started_at(self) -> datetime | None:
        self._enter("started_at")
        return self.since

    def describe_host(self) -> HostFacts:
        self._enter("describe_host")
        return HostFacts(memory=self.memory_of_host, cpus=8, version="29.1.0", nodes=self.nodes)

    def deploy(
        self, spec: ContainerSpec, *, confirm: Callable[[], bool],
        retire: Callable[[Observation], None] = lambda _: None, on_missing_state: Callable[[], None] = lambda: None,
        seen: Observation | None = None,
    ) -> Observation:  # fmt: skip
        self._enter("deploy", spec.key)
        self._check_firewall(spec)
        before = self.volumes.copy()
        self._step("deploy.create")
        container = self._settle_name(spec, retire)
        if any(volume.endswith("-data") for volume in self._volumes_of(spec.key) - before):
            on_missing_state()
        try:
            if not container.is_up:
                self._step("deploy.confirm")
                if not confirm():
                    raise SupersededError("A newer command took the place of this deploy.")
                self._step("deploy.start")
                self._start(container)
        except EngineError:
            self._undo(container, self._volumes_of(spec.key) - before | {f"{spec.name}-secrets"})
            raise
        self._answer("deploy")
        return container.observation

    def prefetch(self, key: str, container_id: str = "") -> Prefetch:
        return list

    def stop(self, key: str, *, timeout: int, prefetch: Prefetch = list, for_good: bool = False) -> Observation | None:
        self._enter("stop", key)
        with self._changed:
            found = self._find_all(key)
            was_up = len(found) == 1 and found[0].is_up
            for container in found:
                left = seconds_left()
                if container.is_up and container.name in self.ignores_sigterm and left is not None and left < timeout:
                    raise StillStoppingError("The agent is still stopping.")
                self._stop(container)
        self._answer("stop")
        return replace(found[0].observation, report=None) if was_up else None

    def remove(self, key: str, *, volumes: bool = False) -> None:
        self._enter("remove", key)
        with self._changed:
            for container in self._find_all(key):
                self._remove(container)
            if volumes:
                self._drop_volumes(self._volumes_of(key))
        self._answer("remove")

    def inspect(self, key: str, *, briefly: bool = False, of: str = "") -> Observation | None:
        self._enter("inspect", key)
        with self._changed:
            container = self._find(key)
            if container and container.is_silent:
                raise ContainerSilentError("The engine does not say how this container is.")
            if container and briefly and not container.is_up:
                return replace(container.observation, report=None)
            return container.observation if container else None

    def realign(self, key: str) -> list[str]:
        self._enter("realign", key)
        with self._changed:
            found = {each.container_id: each for each in self._find_all(key)}
            for spare in find_spare([each.observation for each in found.values()]):
                self._remove(found.pop(spare.container_id))
            for container in map(self._check_network, found.values()):
                container.has_drifted = False
        self._answer("realign")
        return ["network"]

    def quarantine(self, key: str, *, timeout: int, retire: Callable[[Observation], None] = lambda _: None) -> None:
        self._enter("quarantine", key)
        with self._changed:
            for container in self._find_all(key):
                if is_labelled(container.labels):
                    before = container.observation
                    self._stop(container)
                    if before.state is not ContainerState.CREATED and QUARANTINE_LABEL not in before.labels:
                        retire(before)
                    self._keep(container)
            secrets = {volume for volume in self._volumes_of(key) if volume.endswith("-secrets")}
            self.volumes -= {volume for volume in secrets if is_labelled(self.volume_labels[volume])}
        self._answer("quarantine")

    def observe(
        self, within: Mapping[str, str], *, others: bool = False, briefly: Keys = (), doubted: Keys = (),
        runs: Runs = NO_RUNS,
    ) -> list[Observation]:  # fmt: skip
        self._enter("observe")
        with self._changed:
            wanted = {**within, INSTANCE_LABEL: settings.BERTH_INSTANCE}
            return [
                container.briefly
                if container.key in briefly or container.is_run(since=runs.get(container.key))
                else container.tell(believed=container.key not in doubted)
                for container in self._listed(doubted)
                if (others or container.is_ours) and wanted.items() <= container.labels.items()
            ]

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        self._enter("list_volumes")
        with self._changed:
            found = [(name, self.volume_labels.get(name, {})) for name in sorted(self.volumes)]
            return [
                Volume(name=name, labels=labels, created_at=self.volumes_since)
                for name, labels in found
                if is_ours(labels) and within.items() <= labels.items()
            ]

    def read_secrets(self, key: str) -> list[str]:
        self._enter("read_secrets", key)
        with self._changed:
            container = self._find(key)
            return list(container.secrets.values()) if container else []

    def stats(self, key: str) -> Usage | None:
        self._enter("stats", key)
        with self._changed:
            container = self._find(key)
            return self.usage if container and container.state is ContainerState.RUNNING else None

    def usage_of(self, container_id: str, *, started_at: datetime | None) -> Usage | None:
        self._enter("usage_of", container_id)
        with self._changed:
            found = next((each for each in self.containers.values() if each.container_id == container_id), None)
            return self.usage if found and found.state is ContainerState.RUNNING else None

    def measure_disks(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        for key, most in keys.items():
            self._enter("measure_disks", key)
            with self._changed:
                has_state = any(volume.endswith("-data") for volume in self._volumes_of(key))
                found = self.disks.get(key, DiskUse(used=4096, files=0)) if has_state else DiskUse(used=0, files=0)
                is_hanging = key in self.unmeasurable
            if not is_hanging:
                yield key, found if found.files < most else DiskUse(used=0, files=most)
