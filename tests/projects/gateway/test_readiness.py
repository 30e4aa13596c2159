"""An agent that reports nothing is ready when the gateway has seen it reach Telegram, and not before.

The cases: what the image reports, what the gateway has seen, and how long ago the agent was started.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from containers.vocabulary import Health
from projects.models import Project
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock

pytestmark = pytest.mark.django_db

SEEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a poll just now": {"last_poll": 0},
    "a poll long ago": {"last_poll": -200},
    "a poll of the run before": {"last_poll": -10_000},
    "an answer, no poll": {"telegram_status": 200, "telegram_at": -1},
    "Telegram refuses": {"telegram_status": 401, "telegram_at": 0},
    "the bot is polled elsewhere": {"telegram_status": 409, "telegram_at": 0},
    "the provider refuses": {"last_poll": 0, "provider_status": 401, "provider_at": 0},
    "the provider is not paid": {"last_poll": 0, "provider_status": 402, "provider_at": 0},
    "Telegram is down": {"telegram_status": 502, "telegram_at": 0},
}
YOUNG, OLD = 20, 300
"""Seconds since the start."""

SILENT = ("degraded", "unresponsive")
REFUSED = {
    "Telegram refuses": ("degraded", "telegram_token"),
    "the bot is polled elsewhere": ("degraded", "telegram_conflict"),
    "the provider refuses": ("degraded", "provider_key"),
    "the provider is not paid": ("degraded", "provider_credit"),
}
WELL = ("running", "")
EXPECTED = {
    **{(name, age): told for name, told in REFUSED.items() for age in (YOUNG, OLD)},
    **{(name, YOUNG): ("starting", "") for name in ("nothing", "a poll of the run before", "Telegram is down")},
    **{(name, OLD): SILENT for name in ("nothing", "a poll of the run before", "Telegram is down", "a poll long ago")},
    **{(name, age): WELL for name in ("a poll just now", "an answer, no poll") for age in (YOUNG, OLD)},
}


def told(api: APIClient, project: Project) -> tuple[str, str]:
    """The project's own answer, with which the list agrees."""
    answer = api.get(f"/api/projects/{project.pk}").json()
    assert [row["status"] for row in api.get("/api/projects").json()] == [answer["status"]]
    return answer["status"], (answer["status_reason"] or {"code": ""})["code"]


@pytest.fixture
def look(
    engine: MemoryEngine, gateway: MemoryGateway, project: Project, time: Clock, api: APIClient
) -> Callable[..., tuple[str, str]]:
    """The gateway has seen this, so many seconds after the start. Moments are in seconds from now."""

    def look(*, age: float, health: Health = Health.NONE, **what: Any) -> tuple[str, str]:
        container = engine.containers[project.container_name]
        engine.set_health(project.container_name, health)
        container.report, container.started_at = None, time.now - timedelta(seconds=age)
        Project.objects.update(agent_state="", agent_code="", health=health, seen_code="", seen_well="", polled_at=None)
        Project.objects.update(sees_from=container.started_at, started_at=container.started_at)
        gateway.restart()
        moments = {name: time.now.timestamp() + value for name, value in what.items() if not name.endswith("_status")}
        if what:
            gateway.see(str(project.pk), **{**what, **moments})
        reconcile()
        look_after_gateway()
        reconcile()
        return told(api, project)

    return look


@pytest.mark.either_database
def test_a_silent_agent_is_judged_by_what_the_gateway_has_seen(look: Callable[..., tuple[str, str]]) -> None:
    found = {(name, age): look(age=age, **SEEN[name]) for name, age in EXPECTED}
    assert found == EXPECTED


@pytest.mark.either_database
def test_if_agent_and_gateway_disagree_the_gateway_counts(look: Callable[..., tuple[str, str]]) -> None:
    """It reports that it is healthy."""
    for name, what in SEEN.items():
        expected = EXPECTED.get((name, OLD), WELL)
        assert look(age=OLD, health=Health.HEALTHY, **what) == expected, name
        if expected in (SILENT, WELL):
            assert look(age=YOUNG, health=Health.HEALTHY, **what) == WELL, name


def test_the_agent_s_report_about_telegram_explains_its_silence(
    look: Callable[..., tuple[str, str]], engine: MemoryEngine, project: Project, api: APIClient, time: Clock
) -> None:
    assert look(age=OLD) == SILENT
    time.now += timedelta(seconds=1)
    engine.report(project.container_name, "degraded", "telegram_unreachable")
    reconcile()
    assert told(api, project) == ("degraded", "telegram_unreachable")


def test_a_gateway_that_has_just_started_calls_no_agent_silent(
    look: Callable[..., tuple[str, str]], gateway: MemoryGateway, project: Project, api: APIClient
) -> None:
    assert look(age=OLD, last_poll=0) == WELL
    gateway.restart()
    look_after_gateway()
    assert told(api, project) == WELL
    assert look(age=OLD, last_poll=0, provider_status=401, provider_at=0)[1] == "provider_key"
    gateway.restart()
    look_after_gateway()
    assert told(api, project) == ("degraded", "provider_key"), "What was refused is refused until it is not."


def test_an_agent_that_reaches_telegram_again_recovers(
    look: Callable[..., tuple[str, str]], gateway: MemoryGateway, project: Project, api: APIClient, time: Clock
) -> None:
    assert look(age=OLD) == SILENT
    gateway.see(str(project.pk), last_poll=time.now.timestamp())
    look_after_gateway()
    reconcile()
    assert told(api, project) == WELL


def test_agents_behind_a_gateway_that_is_down_are_not_shown_as_healthy_for_long(
    look: Callable[..., tuple[str, str]],
    engine: MemoryEngine,
    gateway: MemoryGateway,
    project: Project,
    api: APIClient,
    time: Clock,
) -> None:
    assert look(age=OLD, last_poll=0) == WELL
    for seconds, expected in ((60, WELL), (40, SILENT)):
        time.now += timedelta(seconds=seconds)
        for verb in ("ensure_gateway", "gateway"):
            engine.fail(verb, EngineUnavailableError)
        look_after_gateway()
        reconcile()
        assert told(api, project) == expected
    gateway.see(str(project.pk), last_poll=time.now.timestamp())
    look_after_gateway()
    assert told(api, project) == WELL


def test_without_a_gateway_three_seconds_are_enough(
    engine: MemoryEngine, without_gateway: Project, api: APIClient
) -> None:
    engine.set_health(without_gateway.container_name, Health.NONE)
    started = engine.containers[without_gateway.container_name]
    started.report, started.started_at = None, (started.started_at or started.created_at) - timedelta(seconds=4)
    Project.objects.update(agent_state="", agent_code="")
    reconcile()
    assert told(api, without_gateway) == WELL
