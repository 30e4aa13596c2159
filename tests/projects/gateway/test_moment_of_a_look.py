"""A command's observation is from before the gateway is notified; what happens after that is unknown to it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from accounts import clock
from projects.models import Project
from projects.services.commands import start_and_stop
from projects.services.gateway import synchronization
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
Control = Callable[..., Any]


@pytest.fixture
def told_at(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """When the gateway was notified; an agent may be paused before or after it."""
    moments: list[datetime] = []

    class Notification(synchronization.GatewayNotification):
        def finish(self) -> bool:
            moments.append(clock.now())
            return super().finish()

    def leave_gateway(project: Project) -> None:
        moments.append(clock.now())
        synchronization.leave_gateway(project)

    monkeypatch.setattr(start_and_stop, "GatewayNotification", Notification)
    monkeypatch.setattr(start_and_stop, "leave_gateway", leave_gateway)
    return moments


@pytest.mark.parametrize("is_behind", [True, False])
def test_a_start_records_no_time_later_than_its_container(
    is_behind: bool, told_at: list[datetime], project: Project, control: Control, settings: Any
) -> None:
    settings.BERTH_GATEWAY = is_behind
    assert control(project, "restart").json()["status"] == "running"
    seen = Project.objects.get(pk=project.pk).observed_at
    assert seen is not None
    assert seen <= told_at[-1]


def test_the_observation_of_a_failed_start_has_the_time_of_its_request(
    engine: MemoryEngine, project: Project, control: Control
) -> None:
    asked_at: list[datetime] = []
    engine.slow("inspect", lambda: asked_at.append(clock.now()))
    engine.fail_start_after_create()
    assert control(project, "restart").status_code == 502
    seen = Project.objects.get(pk=project.pk).observed_at
    assert seen is not None
    assert seen <= asked_at[-1]
