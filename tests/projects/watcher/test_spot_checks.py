"""When each container is inspected although the list calls it healthy."""

from datetime import timedelta
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.utils import timezone

from containers.errors import EngineUnavailableError
from projects.models import Event, Project
from projects.watcher import listener, watcher
from projects.watcher.reconcile import spot_checks
from projects.watcher.reconcile.spot_checks import SpotChecks
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import look
from tests.projects.watcher.rows import later
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def test_each_container_is_inspected_at_most_once_a_minute(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No matter how many rounds there are. `monotonic` is the test's."""
    now = [1000.0]
    monkeypatch.setattr("projects.watcher.reconcile.spot_checks.time.monotonic", lambda: now[0])
    looks = SpotChecks(lambda _: None)
    engine.calls.clear()
    counts = []
    for _ in range(5):
        until = now[0] + spot_checks.ALL_WITHIN
        while now[0] < until:
            look(correct=looks.correct)
            looks.step()
            now[0] += 5 * spot_checks.EVERY
        counts.append(sum(verb == "look_up" for verb, _ in engine.calls))
    assert 3 * 5 <= counts[-1] <= 3 * 11
    assert all(later - earlier >= 3 for earlier, later in pairwise(counts))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["the stream of events ends", "the engine is away"])
def test_after_lost_events_the_watcher_asks_about_all(
    way: str, victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and not only within a minute, which no wait of this test would last."""
    monkeypatch.setattr(spot_checks, "ALL_WITHIN", 3600.0)
    monkeypatch.setattr(spot_checks, "EVERY", 0.05)
    monkeypatch.setattr(watcher, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(listener, "SILENCE", 0.1)
    monkeypatch.setattr(listener, "AGAIN", 0.05)
    with watchers_in_threads() as start:
        started = start()
        wait_until(lambda: any(verb == "look_up" for verb, _ in engine.calls), within=60)
        engine.fill_disk()
        monkeypatch.setattr(started._listener, "_hear", lambda _: None)
        engine.crash(victim.container_name, exit_code=20)
        if way == "the engine is away":
            engine.unavailable = True
            seen = engine.calls.count(("observe", ""))
            wait_until(lambda: engine.calls.count(("observe", "")) > seen + 1, within=60)
            engine.unavailable = False
        else:
            engine.fail("events", EngineUnavailableError)
        wait_until(lambda: Project.objects.get().status == "crashed", within=60)


def test_the_command_that_looks_at_every_container_believes_no_list(victim: Project, engine: MemoryEngine) -> None:
    engine.fill_disk()
    engine.crash(victim.container_name)
    later(victim, observed_at=timezone.now() - timedelta(minutes=1))
    call_command("reconcile", stdout=StringIO())
    assert engine.containers[victim.container_name].is_up
    assert Event.objects.filter(action="crash", project_id=victim.pk).exists()
