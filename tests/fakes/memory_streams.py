"""The streams of the engine in memory: logs, events and reports."""

import time
from collections.abc import Iterator, Mapping
from datetime import datetime

from containers.vocabulary import (
    EngineEvent,
)
from tests.fakes.engine_dials import EngineDials
from tests.fakes.memory_container import MemoryContainer


class MemoryReports:
    """Receives the reports of the containers in memory."""

    def __init__(self, engine: EngineDials, seen: int) -> None:
        self._engine = engine
        self._seen = seen
        self._running: Mapping[str, str] = {}

    def follow(self, running: Mapping[str, str]) -> None:
        self._running = running

    def wait(self, timeout: float) -> set[str]:
        with self._engine._changed:
            if len(self._engine._reports) == self._seen:
                self._engine._changed.wait(timeout)
            fresh, self._seen = self._engine._reports[self._seen :], len(self._engine._reports)
        return {self._running[each] for each in fresh if each in self._running}

    def close(self) -> None:
        """Nothing is open."""


class MemoryStreams(EngineDials):
    """The streams of the engine in memory."""

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        self._enter("logs", key)
        with self._changed:
            container = self._find(key)
            if container is None or of not in {"", container.container_id}:
                return iter(())
            lines = [line for line in container.lines if since is None or line[0] >= since]
            seen = len(container.lines)
        head = lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]
        return self._read(container, head, seen) if follow else (_stamped(line) for line in head)

    def report_streams(self) -> MemoryReports:
        with self._changed:
            return MemoryReports(self, len(self._reports))

    def events(
        self, within: Mapping[str, str], *, timeout: float, after: datetime | None = None
    ) -> Iterator[EngineEvent]:
        self._enter("events")
        with self._changed:
            seen = sum(after is None or event.at <= after for event, _ in self._events)
            return self._listen(dict(within), timeout, seen)

    def find_newest_event(self, within: Mapping[str, str], *, since: datetime, until: datetime) -> datetime | None:
        self._enter("find_newest_event")
        with self._changed:
            found = [event.at for event, labels in self._events if dict(within).items() <= labels.items()]
        return max((at for at in found if since <= at <= until), default=None)

    def _is_kept(self, container: MemoryContainer) -> bool:
        return self.containers.get(container.name) is container

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
