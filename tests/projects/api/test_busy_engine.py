"""If a busy engine does not answer, a list shows what the watcher has recorded meanwhile, and waits less."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import seconds_left
from containers.vocabulary import Health
from projects.models import Project, Watch
from projects.services import observation
from projects.services.observation import WHILE_WATCHED
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine


def statuses(api: APIClient) -> dict[str, str]:
    return {each["name"]: each["status"] for each in api.get("/api/projects").json()}


def watch(**heartbeat: float) -> None:
    now = timezone.now()
    beat = {"heartbeat_at": now - timedelta(**heartbeat), "lease_until": now + timedelta(seconds=10)}
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults=beat)


@pytest.fixture
def two(deploy: Any) -> tuple[Project, Project]:
    """The row of the first project is too old; the status of the second one follows from it."""
    old, known = deploy(name="old"), deploy(name="known", telegramToken="999:another")
    Project.objects.filter(pk=old.pk).update(observed_at=timezone.now() - timedelta(minutes=1))
    return old, known


def test_an_observation_written_meanwhile_is_used(
    api: APIClient, two: tuple[Project, Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "READ_AGAIN_AFTER", 0.0)

    def write_down() -> None:
        Project.objects.filter(pk=two[1].pk).update(health=Health.UNHEALTHY)
        watch(seconds=0)
        raise EngineUnavailableError("The engine is busy.")

    watch(seconds=6)
    engine.slow("observe", write_down)
    assert statuses(api) == {"old": "running", "known": "degraded"}


def test_the_detail_and_the_pages_use_it_too(
    api: APIClient, alice: User, two: tuple[Project, Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "READ_AGAIN_AFTER", 0.0)
    old, page = two[0], browser_of(alice)

    def write_down() -> None:
        Project.objects.filter(pk=old.pk).update(health=Health.UNHEALTHY, observed_at=timezone.now())
        watch(seconds=0)
        raise EngineUnavailableError("The engine is busy.")

    engine.slow("observe", write_down)

    def answer(ask: APIClient | Client, path: str) -> Any:
        Project.objects.filter(pk=old.pk).update(health="healthy", observed_at=timezone.now() - timedelta(minutes=1))
        watch(seconds=6)
        return ask.get(path)

    told = answer(api, f"/api/projects/{old.pk}").json()
    assert told["status"] == "degraded"
    for path in ("/", f"/projects/{old.pk}"):
        assert told["status_reason"]["message"] in answer(page, path).content.decode(), path


def test_an_answer_of_the_engine_is_not_lost(
    api: APIClient, two: tuple[Project, Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "READ_AGAIN_AFTER", 0.0)
    engine.crash(two[0].container_name, exit_code=1)
    assert statuses(api) == {"old": "crashed", "known": "running"}


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_read_waits_less_while_a_watcher_works(
    api: APIClient, two: tuple[Project, Project], engine: MemoryEngine, is_watched: bool
) -> None:
    if is_watched:
        watch(seconds=6)
    left: list[float | None] = []
    engine.slow("observe", lambda: left.append(seconds_left()))
    statuses(api)
    assert len(left) == 1
    assert (left[0] is not None and left[0] <= WHILE_WATCHED) == is_watched
