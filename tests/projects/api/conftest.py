"""Requests to Alice's project, and a user who has none yet."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Plan, Project
from tests.factories import UserFactory
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Change
from tests.projects.api.following import hang_up
from tests.projects.api.sending import Sender, everything


@pytest.fixture
def nothing_comes_of_it(project: Project, engine: MemoryEngine) -> Iterator[None]:
    """Alice has one project. Fails the test if its requests change a row, a record or the engine."""
    before = everything(engine)
    yield
    assert everything(engine) == before


@pytest.fixture
def send(api: APIClient, project: Project, body: dict[str, Any]) -> Sender:
    return Sender(api, project, body | {"plan": "pro", "telegramToken": "555:a-free-bot"})


@pytest.fixture
def named(project: Project) -> Project:
    """Alice's project with the name of its bot, as if Telegram had reported it."""
    Project.objects.filter(pk=project.pk).update(bot_username="harbour_bot")
    project.refresh_from_db()
    return project


@pytest.fixture
def change(api: APIClient, project: Project) -> Change:
    """Changes fields of Alice's project."""

    def send(*, query: str = "", client: APIClient = api, **fields: Any) -> Any:
        return client.patch(f"/api/projects/{project.id}{query}", fields)

    return send


@pytest.fixture
def log(project: Project, engine: MemoryEngine) -> Any:
    """Lets the agent of Alice's project print a line."""
    return lambda line: engine.log(project.container_name, line)


@pytest.fixture
def follow(api: APIClient, project: Project) -> Iterator[Any]:
    """Follows the log of Alice's project. Followers that are left at the end of the test are closed."""
    opened: list[Any] = []

    def open_stream() -> Any:
        opened.append(api.get(f"/api/projects/{project.id}/logs?follow=true"))
        return opened[-1]

    yield open_stream
    for answer in opened:
        if answer.streaming:
            hang_up(answer)


@pytest.fixture
def newcomer(db: None) -> User:
    """A user who has just signed up."""
    Plan.objects.filter(slug="pro").update(max_projects=3)
    return UserFactory.create(email="new@example.com")
