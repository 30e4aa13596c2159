"""Alice's browser, and the forms that she sends with it."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Project
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_TELEGRAM_TOKEN,
)
from tests.projects.dashboard.pages import Fields, path_of, text_of


@pytest.fixture
def dashboard(alice: User) -> Client:
    """Alice's browser."""
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def fields() -> Fields:
    """A valid form for a new project."""
    return {
        "id": str(uuid.uuid4()),
        "name": "Harbour pilot",
        "type": "assistant",
        "plan": "pro",
        "telegram_token": CANARY_TELEGRAM_TOKEN,
        "api_key": CANARY_API_KEY,
        "instructions": "",
        "model": "",
        "allowed_users": "",
    }


@pytest.fixture
def page(dashboard: Client, project: Project) -> Callable[[], str]:
    """The page of Alice's project, as text."""
    return lambda: text_of(dashboard.get(path_of(project)))


@pytest.fixture
def change(dashboard: Client) -> Callable[..., Any]:
    """Sends the form of a change as the browser would: everything that it shows, with these changes."""

    def send(project: Project, **fields: str) -> Any:
        shown = dashboard.get(path_of(project, "/change")).context["form"].initial
        return dashboard.post(path_of(project, "/change"), {**shown, **fields})

    return send
