"""Each started agent gets its limit of name look-ups, and staff are warned if that fails."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from accounts import clock
from accounts.models import User
from containers.errors import EngineUnavailableError
from containers.vocabulary import EngineEvent
from projects.models import Project, Watch
from projects.watcher import name_limits
from projects.watcher import watcher as loop
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

WARNING = "Agents can ask the engine's own name server as often as they like: <nsenter> is not installed here."

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    with watchers_in_threads() as start:
        yield start


def is_limited(engine: MemoryEngine, project: Project) -> bool:
    return engine.containers[project.container_name].container_id in engine.limited


def test_running_containers_get_their_names_in_the_first_rounds(
    deploy: Callable[..., Project], engine: MemoryEngine, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_limits, "EVERY", 0.02)
    project = deploy()
    watch()
    wait_until(lambda: is_limited(engine, project), within=60)


def test_starting_containers_get_their_names_with_their_event(
    deploy: Callable[..., Project], engine: MemoryEngine, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_limits, "EVERY", 3600.0)
    watch()
    wait_until(lambda: ("events", "") in engine.calls, within=60)
    wait_until(lambda: Watch.objects.exclude(holder="").exists(), within=60)
    project = deploy()
    wait_until(lambda: is_limited(engine, project), within=60)


def test_agents_that_have_just_ended_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy engine lists them as running for a while. One that starts again is asked for at once."""
    limits = name_limits.NameLimits(lambda: True)

    def hear(action: str) -> None:
        limits.hear(EngineEvent(key="k", action=action, at=clock.now(), container_id="1"))

    hear("die")
    limits.follow({"1", "2"})
    assert limits._choose({"3"}) == {"2", "3"}
    hear("start")
    assert limits._choose({"1"}) == {"1", "2"}
    hear("die")
    monkeypatch.setattr(name_limits, "ENDED_FOR", -1.0)
    assert limits._choose(set()) == {"1", "2"}


def test_only_the_leading_watcher_sets_names(engine: MemoryEngine) -> None:
    watcher = name_limits.NameLimits(lambda: False)
    watcher._try(frozenset({"1"}))
    assert ("limit_names", "") not in engine.calls
    name_limits.NameLimits(lambda: True)._try(frozenset())
    assert ("limit_names", "") not in engine.calls
    name_limits.NameLimits(lambda: True)._try(frozenset({"1"}))
    assert ("limit_names", "") in engine.calls


def test_staff_see_a_warning_while_names_are_missing(
    engine: MemoryEngine, sam: User, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody else does: agents keep running, and readiness does not depend on it."""
    Watch.objects.create(instance=settings.BERTH_INSTANCE)
    page: Client = browser_of(sam)
    watcher = name_limits.NameLimits(lambda: True)
    engine.names_warning = WARNING
    for _ in range(3):
        watcher._try(frozenset({"1"}))
    assert caplog.text.count(WARNING) == 1
    assert "&lt;nsenter&gt; is not installed here." in page.get(reverse("admin:index")).content.decode()
    assert page.get("/readyz").json().get("firewall") != "missing"
    assert not Watch.objects.get().bars_agents
    engine.fail("limit_names", EngineUnavailableError)
    watcher._try(frozenset({"1"}))
    assert Watch.objects.get().names_warning == WARNING
    engine.names_warning = None
    watcher._try(frozenset({"1"}))
    assert "nsenter" not in page.get(reverse("admin:index")).content.decode()


@pytest.mark.parametrize("error", [EngineUnavailableError, DatabaseError])
def test_an_outage_is_logged_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    caplog.set_level("INFO", logger=name_limits.__name__)
    watcher = name_limits.NameLimits(lambda: True)

    def fail(_self: object, _containers: object) -> None:
        raise error("away")

    for outages in (1, 2):
        with monkeypatch.context() as outage:
            outage.setattr(MemoryEngine, "limit_names", fail)
            for _ in range(3):
                watcher._try(frozenset({"1"}))
        assert caplog.text.count("limits on name look-ups") == outages
        watcher._try(frozenset({"1"}))
