"""What the tests of bad requests share."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.sending import Sender, everything


@pytest.fixture
def nothing_comes_of_it(project: Project, engine: MemoryEngine) -> Iterator[None]:
    """Alice has one project. Fails the test whose requests change a row, a record or the engine."""
    before = everything(engine)
    yield
    assert everything(engine) == before


@pytest.fixture
def send(api: APIClient, project: Project, body: dict[str, Any]) -> Sender:
    return Sender(api, project, body | {"plan": "pro", "telegramToken": "555:a-free-bot"})
