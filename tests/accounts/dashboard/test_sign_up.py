"""Accounts that people create themselves."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client

from accounts.models import OutgoingMail, User
from accounts.services import sign_up
from tests.factories import UserFactory
from tests.mailing import deliver

NEW_PASSWORD = "harbour lights at dusk"


@pytest.fixture(autouse=True)
def _is_open(db: None, settings: Any) -> None:
    settings.BERTH_SIGNUP = "open"


@pytest.fixture(autouse=True)
def _the_clock_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the hour in which requests are counted from ending in the middle of a test."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime.fromtimestamp(1_800_000_000, UTC))


def ask(email: str, **headers: Any) -> Any:
    return Client().post("/sign-up", {"email": email}, **headers)


def link_of(message: Any) -> str:
    found = re.search(rf"^{settings.BERTH_PUBLIC_URL}(/set-password/\S+)$", message.body, re.MULTILINE)
    assert found is not None
    return found[1]


def test_a_stranger_gets_in_through_the_mailbox() -> None:
    assert ask("New@Example.org").status_code == 200
    deliver()
    (message,) = mail.outbox
    assert message.to == ["new@example.org"]
    client = Client()
    form = client.get(link_of(message), follow=True)
    path = form.redirect_chain[-1][0]
    client.post(path, {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert User.objects.get().check_password(NEW_PASSWORD)
    assert User.objects.get().role == "user"


def test_nobody_gets_in_before_the_link_is_followed() -> None:
    ask("new@example.org")
    assert not User.objects.get().has_usable_password()


def test_the_answer_is_the_same_for_known_and_unknown_emails() -> None:
    known, inactive = UserFactory.create(), UserFactory.create(is_active=False)
    answers = {
        ask(email).content.decode().replace(email, "EMAIL")
        for email in (known.email, inactive.email, "nobody@example.org")
    }
    assert len(answers) == 1
    deliver()
    links = {message.to[0]: "/set-password/" in message.body for message in mail.outbox}
    assert links == {known.email: True, inactive.email: False, "nobody@example.org": True}


def test_an_existing_account_stays_unchanged() -> None:
    user = UserFactory.create(staff=True)
    before = user.password
    ask(user.email.upper())
    user.refresh_from_db()
    assert (user.password, user.is_staff, User.objects.count()) == (before, True, 1)


def test_a_mailbox_is_not_flooded() -> None:
    answers = {ask("new@example.org", REMOTE_ADDR=f"192.0.2.{number}").status_code for number in range(8)}
    assert answers == {200}
    deliver()
    assert len(mail.outbox) == sign_up.MAILS_PER_ACCOUNT


def test_an_address_asks_ten_times_an_hour() -> None:
    answers = [ask(f"person{number}@example.org") for number in range(sign_up.ASKED_PER_ADDRESS + 1)]
    assert [answer.status_code for answer in answers] == [200] * sign_up.ASKED_PER_ADDRESS + [429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert User.objects.count() == sign_up.ASKED_PER_ADDRESS


def test_the_addresses_of_one_ipv6_prefix_share_the_limit() -> None:
    addresses = [f"2001:db8:1:2:{number:x}::1" for number in range(sign_up.ASKED_PER_ADDRESS + 1)]
    answers = [ask(f"person{number}@example.org", REMOTE_ADDR=address) for number, address in enumerate(addresses)]

    assert [answer.status_code for answer in answers] == [200] * sign_up.ASKED_PER_ADDRESS + [429]
    assert ask("other@example.org", REMOTE_ADDR="2001:db8:1:3::1").status_code == 200


@pytest.mark.parametrize(("into_the_hour", "left"), [(0, 3600), (1800.5, 1800), (3590, 10), (3599.9, 1)])
def test_the_wait_is_the_rest_of_the_hour(monkeypatch: pytest.MonkeyPatch, into_the_hour: float, left: int) -> None:
    now = datetime.fromtimestamp(1_800_000_000 + into_the_hour, UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    answers = [ask(f"person{number}@example.org") for number in range(sign_up.ASKED_PER_ADDRESS + 1)]

    assert answers[-1]["Retry-After"] == str(left)


@pytest.mark.parametrize("email", ["", "no address", "a@b", "x" * 250 + "@example.org", "new\x00@example.org"])
def test_an_invalid_email_is_reported(email: str) -> None:
    answer = ask(email)
    assert answer.status_code == 200
    assert "aria-invalid" in answer.content.decode()
    assert not User.objects.exists()


def test_signing_up_does_not_wait_for_the_mail_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("A request waits for nobody.")

    monkeypatch.setattr(mail.EmailMessage, "send", refuse)
    assert ask("new@example.org").status_code == 200
    assert OutgoingMail.objects.get().kind == sign_up.KIND


def test_while_it_is_closed_there_is_no_such_page(settings: Any) -> None:
    settings.BERTH_SIGNUP = "closed"
    assert Client().get("/sign-up").status_code == 404
    assert ask("new@example.org").status_code == 404
    assert not User.objects.exists()


def test_a_form_without_its_csrf_token_is_refused() -> None:
    assert Client(enforce_csrf_checks=True).post("/sign-up", {"email": "new@example.org"}).status_code == 403
