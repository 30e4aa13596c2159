"""The cast: Alice owns, Bob is the stranger."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from projects.models import Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine

PASSWORD = "correct horse battery"


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_session(user)}")
    return client


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.org", PASSWORD)


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob@example.org", PASSWORD)


@pytest.fixture
def api(alice: User) -> APIClient:
    """Alice's client."""
    return client_of(alice)


@pytest.fixture
def bobs_api(bob: User) -> APIClient:
    return client_of(bob)


@pytest.fixture
def body() -> dict[str, Any]:
    """A good request to create a project."""
    return {
        "name": "Harbour pilot",
        "type": "assistant",
        "plan": "free",
        "telegramToken": CANARY_TELEGRAM_TOKEN,
        "apiKey": CANARY_API_KEY,
    }


@pytest.fixture
def deploy(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> Callable[..., Project]:
    """Deploy a project of Alice's over the API."""

    def deploy_project(**fields: Any) -> Project:
        answer = api.post("/api/projects", body | {"plan": "pro"} | fields)
        assert answer.status_code == 201, answer.json()
        return Project.objects.get(pk=answer.json()["id"])

    return deploy_project


@pytest.fixture
def project(deploy: Callable[..., Project]) -> Project:
    return deploy()


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
