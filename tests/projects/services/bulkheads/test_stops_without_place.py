"""A stop for which there is no place still wins over a deploy, start or restart in flight, and is never lost."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Actor, Project
from projects.services import suspend_project
from projects.services.bulkheads import COMMANDS
from projects.watcher.reconcile.full import reconcile
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.sampled(6)

STEPS = ("deploy.create", "deploy.confirm", "deploy.start")
STAFF = Actor(label="sam@example.com", source="admin", address="127.0.0.1")

BEGIN: dict[str, Callable[[APIClient, MemoryEngine], Callable[[], Any]]] = {}
"""What is in flight. Each returns the request that is then interrupted."""


def _beginning(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(begin: Callable[..., Any]) -> Callable[..., Any]:
        BEGIN[name] = begin
        return begin

    return add


@_beginning("deploy")
def _deploy(api: APIClient, engine: MemoryEngine) -> Callable[[], Any]:
    return lambda: api.post("/api/projects", PROJECT)


@_beginning("start")
def _start(api: APIClient, engine: MemoryEngine) -> Callable[[], Any]:
    project = deploy_project(api)
    path = f"/api/projects/{project.pk}/control"
    assert api.post(path, {"action": "stop"}).status_code == 200
    return lambda: api.post(path, {"action": "start"})


@_beginning("restart")
def _restart(api: APIClient, engine: MemoryEngine) -> Callable[[], Any]:
    project = deploy_project(api)
    return lambda: api.post(f"/api/projects/{project.pk}/control", {"action": "restart"})


@_beginning("change with a restart")
def _change(api: APIClient, engine: MemoryEngine) -> Callable[[], Any]:
    project = deploy_project(api)
    return lambda: api.patch(f"/api/projects/{project.pk}?restart=true", {"settings": {"model": "other"}})


@_beginning("clearing of the memory")
def _clear(api: APIClient, engine: MemoryEngine) -> Callable[[], Any]:
    project = deploy_project(api)
    return lambda: api.delete(f"/api/projects/{project.pk}/memory")


@pytest.fixture(params=STEPS)
def step(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["answers", "falls silent"])
def is_silent(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "falls silent")


def interrupt(
    engine: MemoryEngine, step: str, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any], *, is_silent: bool
) -> list[Any]:
    """Acts once, without a place, while the engine carries out this step. Returns what was answered."""
    answers: list[Any] = []

    def hook() -> None:
        engine.slow(step, None)
        with monkeypatch.context() as patch:
            patch.setattr(COMMANDS, "try_take", lambda _: False)
            answers.append(act())
        engine.unavailable = is_silent

    engine.slow(step, hook)
    return answers


@pytest.mark.parametrize("beginning", BEGIN)
def test_a_stop_without_a_place_wins(
    beginning: str, step: str, is_silent: bool, api: APIClient, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = BEGIN[beginning](api, engine)

    def stop() -> Any:
        return api.post(f"/api/projects/{Project.objects.get().pk}/control", {"action": "stop"})

    answers = interrupt(engine, step, monkeypatch, stop, is_silent=is_silent)
    lost = begin()
    (answer,) = answers
    assert answer.status_code in {200, 202}
    assert answer.json()["status"] in ({"stopped"} if answer.status_code == 200 else {"stopping", "unknown"})
    assert lost.status_code in {200, 201, 409, 503}
    assert lost.json().get("status") not in {"running", "starting", "restarting", "deploying"}
    engine.unavailable = False
    reconcile()
    project = Project.objects.get()
    assert (project.desired, project.operation) == ("stopped", "")
    assert api.get(f"/api/projects/{project.pk}").json()["status"] == "stopped"
    assert not any(container.is_up for container in engine.containers.values())


@pytest.mark.parametrize("beginning", BEGIN)
def test_a_suspension_without_a_place_wins(
    beginning: str,
    step: str,
    is_silent: bool,
    api: APIClient,
    engine: MemoryEngine,
    sam: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = BEGIN[beginning](api, engine)
    answers = interrupt(
        engine,
        step,
        monkeypatch,
        lambda: suspend_project(project=Project.objects.get(), actor=STAFF),
        is_silent=is_silent,
    )
    begin()
    (suspended,) = answers
    assert suspended.status in {"stopping", "suspended", "unknown"}
    engine.unavailable = False
    reconcile()
    project = Project.objects.get()
    assert project.operation == ""
    assert api.get(f"/api/projects/{project.pk}").json()["status"] == "suspended"
    assert not any(container.is_up for container in engine.containers.values())
