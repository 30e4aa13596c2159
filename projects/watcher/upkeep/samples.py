"""Takes a sample of each running agent's resource use once a minute, in a thread of its own.

Each agent costs one engine call a minute. Some calls run in parallel, each with a limit, and a silent engine is not
asked again until the next minute. A missing sample is only a gap in the charts.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from threading import BoundedSemaphore
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from accounts import clock
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from containers.processes.side_work import do_side_by_side
from containers.vocabulary import ContainerState, Usage
from projects.models import Project, Sample
from projects.models.columns.at_rest import AT_REST
from projects.models.figures.sample import LARGEST
from projects.services.reports.samples import floor, roll_up
from projects.watcher.heartbeat import STEP, Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=1)
AT_ONCE = 16
"""The number of parallel calls. Docker collects numbers once a second, and then answers all waiting calls."""

LONGEST = 45.0
"""Seconds after which the remaining agents are left to the next minute, where they come first."""

WITHIN = 4.0
"""Seconds for the engine to answer about one agent."""

ONE_ANSWER = 15.0
"""Seconds for all parallel calls together, including those that other threads have begun. A thread without memory never
gets an answer."""

MOST_SILENT = 3
"""How many unanswered calls end the sampling of this minute."""

FRESH = timedelta(seconds=150)
"""A reading is counted from the last start or reading if that is not older than this; else counting begins."""

STORING = 10 * STEP
"""Seconds for the statements that store and combine samples: after a long absence, some hundred short ones. The
database ends each after 30 seconds."""

END_WITHIN = 2.0


class Running(NamedTuple):
    """A running container of a project."""

    project_id: UUID
    container_id: str
    started_at: datetime | None


class _Reading(NamedTuple):
    of: Running
    at: datetime
    usage: Usage


class Readings:
    """The last reading of each container, from which the next one is calculated."""

    def __init__(self) -> None:
        self._last: dict[UUID, _Reading] = {}

    def order(self, running: list[Running]) -> list[Running]:
        """Returns containers in the order of their last reading, oldest first. Forgets those that no longer run."""
        keys = {each.project_id for each in running}
        self._last = {key: last for key, last in self._last.items() if key in keys}
        return sorted(running, key=lambda each: (each.project_id in self._last, self._when(each), each.project_id))

    def _when(self, each: Running) -> float:
        last = self._last.get(each.project_id)
        return last.at.timestamp() // EVERY.total_seconds() if last else 0.0

    def make_sample(self, running: Running, usage: Usage, *, at: datetime, now: datetime) -> Sample | None:
        """Returns None for a first reading, whose counts may cover a long time."""
        last = self._last.get(running.project_id)
        self._last[running.project_id] = _Reading(running, now, usage)
        received, sent = usage.network_received or 0, usage.network_sent or 0
        if last and last.of == running and timedelta(0) <= now - last.at <= FRESH:
            received = _since(last.usage.network_received, usage.network_received)
            sent = _since(last.usage.network_sent, usage.network_sent)
        elif running.started_at is None or now - running.started_at > FRESH:
            return None
        return Sample(
            project_id=running.project_id,
            at=at,
            cpu=min(round(usage.cpu_percent * 100), 2**31 - 1),
            memory=min(usage.memory, LARGEST),
            received=min(received, LARGEST),
            sent=min(sent, LARGEST),
        )


def _since(before: int | None, now: int | None) -> int:
    """Returns 0 if one of the two is unknown, or if the count began again."""
    return 0 if before is None or now is None else max(0, now - before)


class Samples(LastingThread):
    """The thread that takes samples while `leads` is true."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("samples")
        super().__init__(name="samples", end_within=END_WITHIN, beat=self._beat)
        self._leads = leads
        self._readings = Readings()
        self._rolled_up: datetime | None = None

    def _run(self) -> None:
        while not self._wait():
            self._beat.expect(STEP)
            try:
                close_old_connections()
                if self._leads():
                    self.step()
            except (EngineError, DatabaseError) as error:
                log.info("Agents' resource use could not be recorded: %s", type(error).__name__)
            except Exception:
                log.exception("Sampling agents' resource use failed; the next attempt is in a minute.")
            finally:
                connections.close_all()

    def _wait(self) -> bool:
        """Waits for the next minute. Returns whether the thread must end."""
        self._beat.expect(EVERY.total_seconds() + STEP)
        return self._stopped.wait(_until_next_minute())

    def step(self) -> int:
        """Stores what each running agent used in this minute. Returns the number of samples."""
        at = floor(clock.now(), EVERY)
        running = _find_running()
        samples = self._read(running, at)
        self._beat.expect(STORING)
        Sample.objects.bulk_create(samples, batch_size=500, ignore_conflicts=True)
        self._rolled_up = roll_up(since=self._rolled_up, now=clock.now())
        return len(samples)

    def _read(self, running: list[Running], at: datetime) -> list[Sample]:
        samples: list[Sample] = []
        silent, until, due = 0, time.monotonic() + LONGEST, self._readings.order(running)
        places = BoundedSemaphore(AT_ONCE)
        for begin in range(0, len(due), AT_ONCE):
            if silent >= MOST_SILENT or time.monotonic() > until or self._stopped.is_set():
                break
            self._beat.expect(STEP)
            some, ask = due[begin : begin + AT_ONCE], partial(_ask, until=time.monotonic() + ONE_ANSWER)
            answers = do_side_by_side(ask, some, places=places, most=AT_ONCE - 1, within=ONE_ANSWER)
            for each, (usage, is_silent) in zip(some, answers, strict=True):
                silent += is_silent
                sample = usage and self._readings.make_sample(each, usage, at=at, now=clock.now())
                samples += [sample] if sample else []
        return samples


def _ask(running: Running, *, until: float) -> tuple[Usage | None, bool]:
    """Returns the usage, or None if it is unknown, and whether the engine did not answer.

    Asks nothing after `until` (on the monotonic clock): if no further threads can be started, a single one would ask a
    silent engine for a minute.
    """
    if time.monotonic() > until:
        return None, True
    try:
        with get_engine().deadline(WITHIN):
            return get_engine().usage_of(running.container_id, started_at=running.started_at), False
    except EngineUnavailableError:
        return None, True
    except EngineError:
        return None, False


def _find_running() -> list[Running]:
    rows = Project.objects.filter(~AT_REST, instance=settings.BERTH_INSTANCE, container_state=ContainerState.RUNNING)
    columns = rows.exclude(container_id="").order_by().values_list("pk", "container_id", "started_at")
    return [Running(*row) for row in columns]


def _until_next_minute() -> float:
    """Returns the seconds until the next minute."""
    return EVERY.total_seconds() - clock.now().timestamp() % EVERY.total_seconds()
