"""An engine that keeps its containers in memory, with dials for everything that can go wrong.

It keeps every promise of `containers.engine.Engine` (the contract tests run against it as against Docker), so a test
that needs no kernel uses it instead of Docker. Reach it with `get_engine()`; call `reset()` between tests.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from django.conf import settings

from containers.errors import EngineError, SupersededError
from containers.vocabulary import ContainerSpec, ContainerState, EngineEvent, Observation, Usage
from tests.fakes.engine_dials import EngineDials
from tests.fakes.memory_container import MemoryContainer


class MemoryEngine(EngineDials):
    """The engine in memory. All dials may be turned from any thread at any time."""

    def ping(self) -> None:
        self._enter("ping")

    def read_deadline(self) -> AbstractContextManager[None]:
        return nullcontext()

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def ensure_firewall(self) -> str | None:
        self._enter("ensure_firewall")
        return self.firewall_warning

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
        self._enter("list_volumes")
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
