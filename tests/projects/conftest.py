"""Alice's projects, created over the API."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import clock
from projects.models import Project
from tests.deploying import PROJECT, deploy_project
from tests.ports import reserve_port


@pytest.fixture
def body() -> dict[str, Any]:
    """A valid request to create a project, on the smallest plan."""
    return PROJECT | {"plan": "free"}


@pytest.fixture
def deploy(api: APIClient) -> Callable[..., Project]:
    """Deploys a project of Alice's over the API, on the plan `pro`."""
    return lambda **fields: deploy_project(api, **fields)


@pytest.fixture
def project(deploy: Callable[..., Project]) -> Project:
    return deploy()


@pytest.fixture
def control(api: APIClient, project: Project) -> Callable[..., Any]:
    """Sends a command to Alice's project."""

    def send(action: str, query: str = "") -> Any:
        return api.post(f"/api/projects/{project.id}/control{query}", {"action": action})

    return send


@pytest.fixture
def stopped(project: Project, control: Callable[..., Any]) -> Project:
    assert control("stop").json()["status"] == "stopped"
    project.refresh_from_db()
    return project


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops the service's clock, so that what was just observed stays fresh on a slow machine."""
    now = timezone.now()
    monkeypatch.setattr(clock, "now", lambda: now)


@pytest.fixture
def unused_port() -> int:
    return reserve_port()
