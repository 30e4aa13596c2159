"""What the tests of the services share."""

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
