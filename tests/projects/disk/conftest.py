"""Commands to Alice's project."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project


@pytest.fixture
def control(api: APIClient, project: Project) -> Callable[..., Any]:
    def send(action: str, query: str = "") -> Any:
        return api.post(f"/api/projects/{project.id}/control{query}", {"action": action})

    return send


@pytest.fixture
def stopped(project: Project, control: Callable[..., Any]) -> Project:
    assert control("stop").json()["status"] == "stopped"
    project.refresh_from_db()
    return project
