"""What is known about the memory of the engine's host, and where people see it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import EngineHost, Project
from projects.services.limits.capacity import ASK_EVERY, measure_capacity
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.services.capacity.commands import MIB, send


def test_the_engine_is_asked_rarely(create: Callable[..., Any], api: APIClient, engine: MemoryEngine) -> None:
    made = Project.objects.get(pk=create().json()["id"])
    for action in ("stop", "start", "restart"):
        send(api, made, action)
    create()

    def asked() -> int:
        return [verb for verb, _ in engine.calls].count("describe_host")

    assert asked() == 1
    engine.memory_of_host = 4096 * MIB
    assert create().json()["code"] == "no_capacity"
    EngineHost.objects.update(ask_again_at=timezone.now() - timedelta(seconds=1))
    assert create().status_code == 201
    assert asked() == 2
    assert EngineHost.objects.get().ask_again_at > timezone.now() + ASK_EVERY / 2


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError, None])
def test_an_unknown_memory_refuses_nothing(error: Any, create: Callable[..., Any], engine: MemoryEngine) -> None:
    engine.memory_of_host = None
    if error:
        engine.fail("describe_host", error, times=9)
    assert [create().status_code for _ in range(4)] == [201] * 4
    capacity = measure_capacity()
    assert (capacity.host, capacity.limit, capacity.promised) == (None, None, 4096)


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError, None])
def test_the_known_memory_is_kept_while_the_engine_is_silent(
    error: Any, full: list[Project], create: Callable[..., Any], engine: MemoryEngine
) -> None:
    EngineHost.objects.update(ask_again_at=timezone.now())
    engine.memory_of_host = None
    if error:
        engine.fail("describe_host", error)
    assert create().json()["code"] == "no_capacity"
    assert EngineHost.objects.get().memory == 1024 * MIB


def test_another_instance_has_a_separate_host(full: list[Project], create: Callable[..., Any], settings: Any) -> None:
    settings.BERTH_INSTANCE = "other"
    assert measure_capacity().promised == 0
    assert create().status_code == 201


def test_the_pages_show_the_lack_of_memory(full: list[Project], alice: User, api: APIClient) -> None:
    dashboard = browser_of(alice)
    form = {
        "id": "0c1d2d1e-32a5-4f0b-9a51-0d5ad5b3d0a1", "name": "Three", "type": "assistant", "plan": "pro",
        "telegram_token": "77:token", "api_key": PROJECT["apiKey"],
    }  # fmt: skip
    refused = dashboard.post("/projects/new", form)
    assert refused.status_code == 503
    assert "has no 1024 MB of memory left" in refused.content.decode()
    send(api, full[0], "stop")
    assert dashboard.post("/projects/new", form).status_code == 302
    refused = dashboard.post(f"/projects/{full[0].pk}/control", {"action": "start"})
    assert refused.status_code == 503
    assert "has no 1024 MB of memory left" in refused.content.decode()


@pytest.mark.parametrize("path", ["project", "plan"])
def test_the_admin_shows_the_sum(path: str, full: list[Project], sam: User, engine: MemoryEngine) -> None:
    staff = browser_of(sam)

    def sentence() -> str:
        return " ".join(staff.get(f"/admin/projects/{path}/").content.decode().split())

    engine.calls.clear()
    expected = "promised 2.0 GB of 2.0 GB of memory: the 1.0 GB of the engine's host, 2 times."
    assert expected in sentence().replace("&#x27;", "'")
    assert ("describe_host", "") not in engine.calls, "a page asks for nothing that takes time"
    EngineHost.objects.all().delete()
    assert "promised 2.0 GB of memory. The engine has not said" in sentence()


def test_staff_see_the_lack_of_memory(
    full: list[Project], create: Callable[..., Any], sam: User, api: APIClient
) -> None:
    send(api, full[0], "stop")
    create()
    data = {"action": "start", "_selected_action": [str(full[0].pk)]}
    page = browser_of(sam).post("/admin/projects/project/", data, follow=True).content.decode()
    assert "One: The host has no 1024 MB of memory left" in page
