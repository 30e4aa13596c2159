"""Bob, who must be answered meanwhile, and a service with room for everyone."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.watcher.reconcile.background import Background
from tests.clients import api_of
from tests.deploying import deploy_project


@pytest.fixture
def bobs(bob: User) -> APIClient:
    api = api_of(bob)
    deploy_project(api, telegramToken="777:a-bot-of-bob", plan="free")
    return api


@pytest.fixture(autouse=True)
def _plenty(settings: Any) -> None:
    """The limits per minute are not tested here."""
    settings.BERTH_LIMITS = {}


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background()
    yield made
    made.stop()
