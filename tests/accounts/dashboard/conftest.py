"""Alice's browser, signed in or between password and code."""

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.dashboard.signing_in import SIGN_IN
from tests.accounts.phone import Phone
from tests.factories import UserFactory


@pytest.fixture
def alices(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def half_way(client: Client, alice: User, phone: Phone) -> Client:
    """Alice, who has a second factor, has entered her password."""
    phone.enrol(alice)
    phone.now += 30
    client.post("/sign-in", SIGN_IN)
    return client


@pytest.fixture
def newcomer(db: None) -> User:
    return UserFactory.create(email="newcomer@example.com", password=None)
