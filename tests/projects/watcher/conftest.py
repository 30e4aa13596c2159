"""A project at which something goes wrong, and others beside it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from projects.models import Project
from tests.projects.watcher.rows import later


@pytest.fixture
def victim(deploy: Callable[..., Project]) -> Project:
    return deploy(name="Victim")


@pytest.fixture
def others(deploy: Callable[..., Project], victim: Project) -> list[Project]:
    """One that a round comes to before the victim, and one after."""
    projects = [deploy(telegramToken=f"{number}:another") for number in (7, 8)]
    later(projects[0], created_at=victim.created_at - timedelta(days=1))
    return projects
