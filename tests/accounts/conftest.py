"""The cast: Alice owns, Bob is the stranger. Sam is staff, Ada is an admin."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from tests.accounts.phone import Phone
from tests.factories import UserFactory

Call = Callable[..., Any]
Said = Callable[[], list[str]]


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory.create(email="alice@example.com")


@pytest.fixture
def bob(db: None) -> User:
    return UserFactory.create(email="bob@example.com")


@pytest.fixture
def sam(db: None) -> User:
    return UserFactory.create(email="sam@example.com", staff=True)


@pytest.fixture
def ada(db: None) -> User:
    return UserFactory.create(email="ada@example.com", admin=True)


@pytest.fixture
def call(client: Client) -> Call:
    """Call the API as a user (with a session token), with any token, or as nobody."""

    def send(method: str, path: str, body: Any = None, *, by: Any = None, **headers: str) -> Any:
        token = issue_session(by) if isinstance(by, User) else by
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        content = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        return client.generic(method, path, content, content_type="application/json", headers=headers)

    return send


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    phone = Phone()
    monkeypatch.setattr("django_otp.oath.time", lambda: phone.now)
    return phone


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    """The lines of the audit so far."""
    caplog.set_level(logging.INFO, logger="berth.audit")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "berth.audit"]
