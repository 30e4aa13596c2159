"""Signing up and in costs the same for every kind of account.
Costs are counted, because times vary on a busy machine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import OutgoingMail, SecondFactor, User
from accounts.services import sign_up
from tests.accounts.credentials.hashing import CountingHasher
from tests.factories import UserFactory
from tests.mailing import deliver

pytestmark = pytest.mark.one_database

EMAIL = "carol@example.org"


def make_unknown() -> None:
    """No account has the email."""


def make_without_password() -> None:
    User.objects.create_user(EMAIL)


def make_with_second_factor() -> None:
    SecondFactor.objects.create(user=UserFactory.create(email=EMAIL), secret_ciphertext="x", last_step=0)


KINDS: dict[str, Callable[[], object]] = {
    "unknown": make_unknown,
    "active": lambda: UserFactory.create(email=EMAIL),
    "inactive": lambda: UserFactory.create(email=EMAIL, is_active=False),
    "without a password": make_without_password,
    "inactive, without a password": lambda: User.objects.create_user(EMAIL, is_active=False),
    "staff": lambda: UserFactory.create(email=EMAIL, staff=True),
    "inactive staff": lambda: UserFactory.create(email=EMAIL, staff=True, is_active=False),
    "admin": lambda: UserFactory.create(email=EMAIL, admin=True),
    "with a second factor": make_with_second_factor,
}
DOORS: dict[str, Callable[[Client], Any]] = {
    "sign-up": lambda client: client.post("/sign-up", {"email": EMAIL}),
    "sign-in": lambda client: client.post("/sign-in", {"email": EMAIL, "password": "not the password"}),
    "login": lambda client: client.post(
        "/api/auth/login", {"email": EMAIL, "password": "not the password"}, content_type="application/json"
    ),
}


@dataclass(frozen=True, slots=True)
class Work:
    hashes: int
    mails: int
    queries: tuple[str, ...]
    status: int


@pytest.fixture
def work(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Work]:
    """Counts what a request costs for an account of this kind, which is removed again afterwards."""
    settings.BERTH_SIGNUP = "open"
    monkeypatch.setattr(sign_up, "MAILS_PER_ACCOUNT", 100)
    settings.PASSWORD_HASHERS = ["tests.accounts.credentials.hashing.CountingHasher"]
    hashed: list[int] = []
    monkeypatch.setattr(CountingHasher, "hashed", hashed)

    def measure(door: str, kind: str) -> Work:
        KINDS[kind]()
        client = Client()
        DOORS[door](client)  # makes the counters
        User.objects.filter(email=EMAIL).delete()
        KINDS[kind]()
        hashed.clear()
        OutgoingMail.objects.all().delete()
        mail.outbox.clear()
        with CaptureQueriesContext(
            connection,
        ) as captured:
            status = DOORS[door](client).status_code
        OutgoingMail.objects.update(next_try_at=timezone.now())
        deliver()
        OutgoingMail.objects.all().delete()
        User.objects.filter(email=EMAIL).delete()
        verbs = tuple(query["sql"].split(maxsplit=1)[0].replace("INSERT", "UPDATE") for query in captured)
        return Work(len(hashed), len(mail.outbox), verbs, status)

    return measure


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unknown"])
@pytest.mark.parametrize("door", DOORS)
def test_every_kind_of_account_costs_the_same(work: Callable[[str, str], Work], door: str, kind: str) -> None:
    assert work(door, kind) == work(door, "unknown")


@pytest.mark.parametrize(("door", "hashes", "mails"), [("sign-up", 0, 1), ("sign-in", 1, 0), ("login", 1, 0)])
def test_something_is_counted(work: Callable[[str, str], Work], door: str, hashes: int, mails: int) -> None:
    counted = work(door, "unknown")
    assert (counted.hashes, counted.mails) == (hashes, mails)
    assert len(counted.queries) >= 3
