"""Each running agent's resource use is recorded once a minute; finer samples are kept for a shorter time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project, Sample
from projects.models.figures.sample import LARGEST, MINUTE
from projects.services.reports.samples import read_samples
from projects.watcher.heartbeat import Pulse
from projects.watcher.upkeep import samples as module
from projects.watcher.upkeep.samples import MOST_SILENT, Samples
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KIB = 1024


class Clock:
    """The time of the test."""

    def __init__(self) -> None:
        self.now = NOON + timedelta(seconds=5)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("accounts.clock.now", clock)
    return clock


@pytest.fixture
def use(engine: MemoryEngine) -> Callable[..., None]:
    """What each container uses from now on."""

    def use(**usage: Any) -> None:
        engine.usage = replace(engine.usage, **usage)

    return use


def start_long_ago(**more: Any) -> None:
    Project.objects.update(started_at=NOON - timedelta(hours=1), **more)


def test_a_minute_has_the_mean_cpu_the_memory_and_the_network_traffic(
    project: Project, clock: Clock, use: Callable[..., None]
) -> None:
    start_long_ago()
    samples = Samples(lambda: True)
    use(network_received=5000, network_sent=3000)
    assert samples.step() == 0  # counters of an hour are not those of a minute
    clock.pass_by(minutes=1)
    use(network_received=5000 + 7 * KIB, network_sent=3000 + KIB, cpu_percent=12.34, memory=48 << 20)
    assert samples.step() == 1
    found = read_samples([project.pk], since=NOON, now=clock.now, minutes=MINUTE)
    assert found == {project.pk: [(NOON + timedelta(minutes=1), 12.34, 48 << 20, 7 * KIB, KIB)]}
    assert samples.step() == 1
    assert Sample.objects.count() == 1  # a minute has one


def test_a_freshly_started_agent_counts_from_its_start(
    project: Project, clock: Clock, use: Callable[..., None]
) -> None:
    Project.objects.update(started_at=clock.now - timedelta(seconds=20))
    use(network_received=900)
    samples = Samples(lambda: True)
    assert samples.step() == 1
    assert Sample.objects.get().received == 900
    clock.pass_by(minutes=1)
    Project.objects.update(container_id="f" * 64)
    assert samples.step() == 0  # gone
    Project.objects.update(container_id=project.container_id, started_at=clock.now)
    use(network_received=100)
    assert samples.step() == 1
    assert Sample.objects.latest("at").received == 100


def test_after_a_gap_sampling_restarts(project: Project, clock: Clock, use: Callable[..., None]) -> None:
    start_long_ago()
    samples = Samples(lambda: True)
    made = []
    for minutes in (0, 1, 10, 1, -5, 1):
        clock.pass_by(minutes=minutes)
        made.append(samples.step())
    assert made == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "row",
    [{"container_state": "exited"}, {"container_state": "paused"}, {"container_id": ""}, {"instance": "another"},
     {"container_id": "f" * 64}],
    ids=str,
)  # fmt: skip
def test_stopped_agents_have_no_samples(
    project: Project, engine: MemoryEngine, clock: Clock, row: dict[str, str]
) -> None:
    start_long_ago(**row)
    samples = Samples(lambda: True)
    engine.calls.clear()
    for _ in range(2):
        assert samples.step() == 0
        clock.pass_by(minutes=1)
    assert len(engine.calls) == (2 if row == {"container_id": "f" * 64} else 0)


def test_each_agent_costs_one_call_and_all_cost_the_same_number_of_statements(
    victim: Project, others: list[Project], engine: MemoryEngine, clock: Clock
) -> None:
    Project.objects.update(started_at=clock.now)
    engine.calls.clear()
    with CaptureQueriesContext(connection) as queries:
        assert Samples(lambda: True).step() == 3
    assert sorted(verb for verb, _ in engine.calls) == ["usage_of"] * 3
    assert len([query for query in queries if "INSERT" in query["sql"]]) == 1


def test_an_unreadable_sample_costs_no_other_agent_its_minute(
    victim: Project, others: list[Project], engine: MemoryEngine, clock: Clock
) -> None:
    Project.objects.update(started_at=clock.now)
    engine.fail("usage_of", EngineRefusedError)
    assert Samples(lambda: True).step() == 2


def test_a_silent_engine_is_asked_a_few_times_and_those_left_are_the_first_of_the_next_minute(
    victim: Project, others: list[Project], engine: MemoryEngine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SILENT", 1)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    assert MOST_SILENT == 3
    Project.objects.update(started_at=clock.now)
    samples = Samples(lambda: True)
    samples.step()
    clock.pass_by(minutes=1)
    engine.calls.clear()
    engine.fail("usage_of", EngineUnavailableError)
    assert samples.step() == 0
    [(_, silent)] = engine.calls
    clock.pass_by(seconds=20)
    engine.calls.clear()
    assert samples.step() == 3
    assert {key for _, key in engine.calls} > {silent}


@pytest.mark.parametrize("name", ["cpu_percent", "memory", "network_received", "network_sent"])
def test_no_count_is_more_than_a_database_holds(
    project: Project, clock: Clock, use: Callable[..., None], name: str
) -> None:
    Project.objects.update(started_at=clock.now)
    use(**{name: 2**64 - 1})
    assert Samples(lambda: True).step() == 1
    sample = Sample.objects.get()
    assert LARGEST in {sample.memory, sample.received, sample.sent} or sample.cpu == 2**31 - 1


@pytest.mark.django_db(transaction=True)
def test_the_thread_samples_by_itself_only_in_the_leading_watcher(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.update(started_at=timezone.now())
    monkeypatch.setattr(module, "_until_next_minute", lambda: 0.01)
    asked = iter([False, False])
    samples = Samples(lambda: next(asked, True))
    samples.start()
    try:
        wait_until(Sample.objects.exists, within=60)
    finally:
        samples.stop()


def test_a_minute_that_hangs_is_seen(project: Project, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pulse = Pulse()
    monkeypatch.setattr(module, "STORING", -1.0)
    samples = Samples(lambda: True, pulse)
    samples.step()
    assert pulse.overdue() == ["samples"]
    samples.stop()
    assert pulse.overdue() == []
