"""Alice's clients, whose access is checked all the time."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from accounts.services import still_signed_in
from tests.factories import ApiKeyFactory, plain_key
from tests.projects.api.revoked.revoking import SESSION


@pytest.fixture(autouse=True)
def _checks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0.0)


@pytest.fixture
def client_of(alice: User) -> Callable[[str], APIClient]:
    """Returns Alice's client with a session token or a key."""

    def make(kind: str) -> APIClient:
        token = issue_session(alice) if kind == SESSION else plain_key(ApiKeyFactory.create(user=alice, scope="write"))
        alice.token = token  # type: ignore[attr-defined]  # for those who revoke it, who are given the user
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return client

    return make
