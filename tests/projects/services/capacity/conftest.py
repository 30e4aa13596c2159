"""A host with little memory, and one that is full."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.services.capacity.commands import MIB


@pytest.fixture(autouse=True)
def small_host(engine: MemoryEngine, settings: Any) -> None:
    """Room for two projects on `pro`, which has 1024 MB: 1024 MB, given twice."""
    engine.memory_of_host, settings.BERTH_OVERCOMMIT = 1024 * MIB, Decimal(2)


@pytest.fixture
def create(api: APIClient) -> Callable[..., Any]:
    numbers = iter(range(1, 100))
    return lambda **fields: api.post("/api/projects", PROJECT | {"telegramToken": f"{next(numbers)}:token"} | fields)


@pytest.fixture
def full(create: Callable[..., Any]) -> list[Project]:
    """Two projects that leave no room."""
    return [Project.objects.get(pk=create(name=name).json()["id"]) for name in ("One", "Two")]
