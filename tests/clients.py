"""Adds the people of `tests.people` to the database, and makes clients that act for them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from projects.models import Allowance, Plan
from tests.accounts.phone import Phone
from tests.factories import UserFactory
from tests.people import PEOPLE, email_of

Call = Callable[..., Any]


def make_person(name: str) -> User:
    """Adds the person of this name to the database, with their rights and with every plan allowed."""
    person = UserFactory.create(email=email_of(name), **PEOPLE[name])
    Allowance.objects.bulk_create(Allowance(user=person, plan=plan) for plan in Plan.objects.only("slug"))
    return person


class SessionClient(APIClient):
    """A client of the API that sends a session token of its owner."""

    def __init__(self, owner: User) -> None:
        super().__init__()
        self.owner = owner
        self.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_session(owner)}")


def api_of(user: User) -> SessionClient:
    """A client of the API that sends a session token of this user."""
    return SessionClient(user)


def browser_of(user: User | None, **options: Any) -> Client:
    """A client with the cookies of a signed-in user, or of a visitor if `user` is None."""
    client = Client(**options)
    if user:
        client.force_login(user)
    return client


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice")


@pytest.fixture
def bob(db: None) -> User:
    return make_person("bob")


@pytest.fixture
def sam(db: None) -> User:
    return make_person("sam")


@pytest.fixture
def ada(db: None) -> User:
    return make_person("ada")


@pytest.fixture
def api(alice: User) -> APIClient:
    """Alice's client of the API."""
    return api_of(alice)


@pytest.fixture
def bobs_api(bob: User) -> APIClient:
    return api_of(bob)


@pytest.fixture
def call(client: Client) -> Call:
    """Calls the API as a user (with a new session token), with any token, or as nobody."""

    def send(method: str, path: str, body: Any = None, *, by: Any = None, **headers: str) -> Any:
        token = issue_session(by) if isinstance(by, User) else by
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        content = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        return client.generic(method, path, content, content_type="application/json", headers=headers)

    return send


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    """A phone with an authenticator app, whose clock is also the service's."""
    phone = Phone()
    monkeypatch.setattr("django_otp.oath.time", lambda: phone.now)
    return phone
