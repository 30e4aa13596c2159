"""A request that creates an API key locks what its session depends on, so that signing out waits until the key exists.

Otherwise a key could be created after the user was told that their session has ended.
"""

from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, transaction
from django.test import Client
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from accounts.services import api_keys, sign_in
from tests.chaos.races.racing import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


def locked_tables() -> list[str]:
    """Returns the tables with a row that another connection than that of a new thread has locked."""

    def look(_number: int) -> list[str]:
        found = []
        for rows in (Session.objects.all(), User.objects.all()):
            try:
                with transaction.atomic():
                    list(rows.select_for_update(nowait=True))
            except OperationalError:
                found.append(rows.model.__name__)
        return found

    [found] = at_once(1, look)
    return list(found)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The locked tables whenever a key is created, and whenever an API session is ended."""
    found: list[list[str]] = []

    def look_before(module: Any, name: str) -> None:
        real = getattr(module, name)

        def wrapped(*args: Any, **given: Any) -> Any:
            found.append(locked_tables())
            return real(*args, **given)

        monkeypatch.setattr(module, name, wrapped)

    look_before(api_keys, "hint_key")
    look_before(sign_in, "revoke_session")
    return found


def test_on_a_page(client: Client, alice: User, seen: list[list[str]]) -> None:
    client.force_login(alice)
    form = {"id": "7f7c4ab9-4a0e-4a55-8d4c-000000000001", "name": "x", "scope": "write"}
    assert client.post("/settings/keys", form).status_code == 200
    assert seen == [["Session", "User"]]
    assert locked_tables() == []


def test_signing_out_by_the_api_locks_the_user_too(alice: User, seen: list[list[str]]) -> None:
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_session(alice)}")
    assert api.post("/api/auth/keys", {"name": "x", "scope": "write"}).status_code == 201
    assert api.post("/api/auth/logout").status_code == 204
    assert seen == [["User"], ["User"]]
    assert locked_tables() == []
