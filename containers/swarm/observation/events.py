"""Reports agents' events. Docker has no events of tasks, only of services and nodes, so tasks' states are compared."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain

from containers.swarm.tasks.tasks import Run, Service
from containers.vocabulary import PROJECT_LABEL, EngineEvent

LOOK_EVERY, LOOK_AT_MANY_EVERY = 1.0, 2.0
"""Seconds between two looks at all services and their tasks, and where there are `MANY`: each look tells of all."""

MANY = 100


def watch(
    look: Callable[[], Sequence[Service]], *, silence: float, after: datetime | None = None
) -> Iterator[EngineEvent]:
    """Yields the changes since the last look. Ends after `silence` seconds without a change.

    Changes that are undone between two looks are not reported, except for the ends of tasks, which a Swarm keeps: those
    later than `after` come first.
    """
    first = _by_id(look())
    return chain(_ended_after(first, after) if after else (), _compare(look, first, silence))


def _ended_after(services: dict[str, Service], after: datetime) -> Iterator[EngineEvent]:
    ends = [(run.said_at, service, run) for service in services.values() for run in service.runs if run.has_ended]
    told = [(at, service, run) for at, service, run in ends if at is not None and at > after and run.has_run]
    for at, service, run in sorted(told, key=lambda each: each[0]):
        yield _event(service, "die", at, exit_code=run.exit_code)


def _compare(
    look: Callable[[], Sequence[Service]], before: dict[str, Service], silence: float
) -> Iterator[EngineEvent]:
    until = time.monotonic() + silence
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(pause_after(len(before)), left))
        now = _by_id(look())
        for event in _changes(before, now):
            until = time.monotonic() + silence
            yield event
        before = now


def pause_after(services: int) -> float:
    """Returns the seconds until the next look, if the last one has found this many services."""
    return LOOK_EVERY if services < MANY else LOOK_AT_MANY_EVERY


def _by_id(services: Sequence[Service]) -> dict[str, Service]:
    return {service.service_id: service for service in services}


def _changes(before: dict[str, Service], now: dict[str, Service]) -> Iterator[EngineEvent]:
    for service in now.values():
        former = before.get(service.service_id)
        if former is None:
            yield _event(service, "create", service.made_at)
        known = {run.task_id: run for run in former.runs} if former else {}
        for run in reversed(service.runs):
            yield from _changes_of_run(service, known.get(run.task_id), run)
    for gone in before.keys() - now.keys():
        yield _event(before[gone], "destroy", None)


def _changes_of_run(service: Service, before: Run | None, now: Run) -> Iterator[EngineEvent]:
    had_begun = before is not None and (before.has_ended or before.state == "running")
    if not had_begun and (now.state == "running" or (now.has_ended and now.has_run)):
        yield _event(service, "start", now.said_at)
    if now.has_ended and now.has_run and not (before is not None and before.has_ended):
        yield _event(service, "die", now.said_at, exit_code=now.exit_code)


def _event(service: Service, action: str, at: datetime | None, *, exit_code: int | None = None) -> EngineEvent:
    return EngineEvent(
        key=service.labels.get(PROJECT_LABEL, ""),
        action=action,
        at=at or datetime.now(UTC),
        container_id=service.service_id,
        exit_code=exit_code,
    )
