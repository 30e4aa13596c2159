"""Hostile email addresses, entered everywhere: the result is a sentence or a mail that can be sent, and never a 500."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address
from django.test import Client

from accounts.emails import LONGEST_EMAIL, clean_email
from accounts.models import User
from accounts.services import sign_up
from accounts.throttling import login_attempts
from tests.accounts.hostile_emails import CJK, FEW, HOSTILE_EMAILS, OF_THIS_MACHINE
from tests.canaries import CANARY_PASSWORD
from tests.factories import UserFactory
from tests.mailing import deliver

pytestmark = pytest.mark.django_db
Send = Callable[[str], Any]


def encodable(email: str) -> str:
    """What a form can send of it: a browser replaces half a surrogate pair."""
    return email.encode(errors="replace").decode()


def send_sign_up(email: str) -> Any:
    return Client().post("/sign-up", {"email": encodable(email)})


def send_sign_in(email: str) -> Any:
    return Client().post("/sign-in", {"email": encodable(email), "password": "x"})


def send_login(email: str) -> Any:
    body = json.dumps({"email": email, "password": "x"})
    return Client().post("/api/auth/login", body, content_type="application/json")


def send_to_admin(email: str) -> Any:
    client = Client()
    client.force_login(User.objects.get(is_superuser=True))
    return client.post("/admin/accounts/user/add/", {"email": encodable(email)})


DOORS: dict[str, tuple[Send, set[int]]] = {
    "sign-up": (send_sign_up, {200, 400, 413}),
    "sign-in": (send_sign_in, {200, 400, 413}),
    "login": (send_login, {400, 401, 413}),
    "admin": (send_to_admin, {200, 400, 413}),
}


@pytest.fixture(autouse=True)
def _nobody_is_throttled(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BERTH_SIGNUP = "open"
    monkeypatch.setattr(sign_up, "ASKED_PER_ADDRESS", 10**6)
    monkeypatch.setattr(login_attempts, "ADDRESS_LIMIT", 10**6)
    UserFactory.create(admin=True)


@pytest.mark.rare(1)
@pytest.mark.either_database
@pytest.mark.parametrize("door", DOORS)
def test_no_address_breaks_a_door(door: str) -> None:
    send, expected = DOORS[door]
    broken = {ascii(email)[:99]: status for email in FEW if (status := send(email).status_code) not in expected}
    assert not broken
    for user in User.objects.filter(is_superuser=False):
        assert clean_email(user.email) == user.email
    deliver()
    for message in mail.outbox:
        assert len(message.to) == 1
        assert len(sanitize_address(message.to[0], "utf-8")) <= LONGEST_EMAIL
        assert message.message().as_bytes()


@pytest.mark.either_database
def test_a_stranger_sends_no_mail_to_this_machine() -> None:
    for domain in OF_THIS_MACHINE:
        answer = send_sign_up(f"root@{domain}")
        assert "error" in answer.content.decode(), domain
    deliver()
    assert mail.outbox == []
    assert not User.objects.filter(is_superuser=False).exists()


@pytest.mark.either_database
def test_a_user_takes_no_address_of_this_machine(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True
    client, user = Client(), UserFactory.create()
    client.force_login(user)
    for domain in OF_THIS_MACHINE:
        client.post("/settings/email", {"email": f"root@{domain}", "password": CANARY_PASSWORD})
    deliver()
    assert mail.outbox == []
    client.post("/settings/email", {"email": "root@example.org", "password": CANARY_PASSWORD})
    deliver()
    assert [message.to for message in mail.outbox] == [["root@example.org"]]


def test_every_accepted_address_can_be_mailed_and_stored() -> None:
    taken = 0
    for email in HOSTILE_EMAILS:
        try:
            address = clean_email(email)
        except ValidationError:
            continue
        taken += 1
        assert clean_email(address) == address
        assert address.count("@") == 1
        assert len(address) <= LONGEST_EMAIL
        assert address.isprintable()
        assert sanitize_address(address, "utf-8").isascii()
    assert taken >= 10


@pytest.mark.parametrize(
    "email",
    [
        f"x@{CJK * 60}.org",
        "x@" + "\u6f22" * 63 + ".org",
        "\ufdfa" * 14 + "@example.org",
        "a\uff20b@example.org",
    ],
)
def test_an_address_that_normalises_to_an_invalid_one_is_refused(email: str) -> None:
    answer = send_sign_up(email)
    assert "aria-invalid" in answer.content.decode()
    assert not User.objects.filter(is_superuser=False).exists()


def test_a_user_with_a_previously_accepted_email_can_still_be_changed() -> None:
    old = User.objects.create(email=f"x@{CJK * 60}.org")
    client = Client()
    client.force_login(User.objects.get(is_superuser=True))
    answer = client.post(f"/admin/accounts/user/{old.pk}/change/", {"email": old.email})
    assert answer.status_code == 302, answer.content
    old.refresh_from_db()
    assert not old.is_active
