"""Alice's projects behind the gateway that the engine in memory runs."""

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway


@pytest.fixture(autouse=True)
def _behind_gateway(settings: Any) -> None:
    settings.BERTH_GATEWAY = True


@pytest.fixture
def gateway(engine: MemoryEngine) -> MemoryGateway:
    return engine.gateway_program


@pytest.fixture
def without_gateway(deploy: Callable[..., Project], settings: Any) -> Project:
    """A project of the time before the gateway."""
    settings.BERTH_GATEWAY = False
    project = deploy()
    settings.BERTH_GATEWAY = True
    return project


@pytest.fixture
def control(api: Any) -> Callable[..., Any]:
    def send(project: Project, action: str) -> Any:
        return api.post(f"/api/projects/{project.pk}/control", {"action": action})

    return send
