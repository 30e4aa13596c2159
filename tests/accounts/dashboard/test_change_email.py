"""The email is changed by a link sent to the new address, and only by the user who is signed in."""

import re
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.test import Client

from accounts import clock
from accounts.models import OutgoingMail, UsageCounter, User
from accounts.services.email_change import ASKED_PER_USER, MAILS_PER_ADDRESS
from accounts.services.sign_in import sign_out_everywhere
from tests.accounts.dashboard.signing_in import is_in
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import browser_of
from tests.mailing import deliver

NEW = "alice@new.example.com"
NOT_CHANGED = "Your email was not changed"


@pytest.fixture(autouse=True)
def _sends_mail(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True


def ask(client: Client, email: str = NEW, **fields: str) -> Any:
    return client.post("/settings/email", {"email": email, "password": CANARY_PASSWORD, **fields})


def link_in_mail() -> str:
    deliver()
    (found,) = re.findall(r"^http\S+/settings/email/confirm\S+$", str(mail.outbox[-1].body), re.MULTILINE)
    parts = urlsplit(found)
    return f"{parts.path}?{parts.query}"


def email_of(user: User) -> str:
    return User.objects.get(pk=user.pk).email


def test_a_mailed_link_changes_the_email_once_and_the_old_address_is_notified(alice: User) -> None:
    here, there = browser_of(alice), browser_of(alice)
    assert ask(here, " Alice@NEW.example.com ").headers["Location"] == "/settings"
    link = link_in_mail()
    assert mail.outbox[0].to == [NEW]
    assert NEW in here.get(link).content.decode()
    assert email_of(alice) == "alice@example.com"
    assert here.post(link).headers["Location"] == "/settings"
    assert email_of(alice) == NEW
    assert is_in(here)
    assert not is_in(there)
    deliver()
    assert mail.outbox[1].to == ["alice@example.com"]
    assert NEW in str(mail.outbox[1].body)
    assert NOT_CHANGED in here.post(link).content.decode()


def test_a_change_of_email_requires_the_password_and_the_code(alice: User, phone: Phone) -> None:
    assert "not your password" in ask(browser_of(alice), password="wrong").content.decode()
    phone.enrol(alice)
    client = browser_of(User.objects.get())
    assert ask(client, code=phone.wrong_code()).status_code == 200
    assert not OutgoingMail.objects.exists()
    assert ask(client, code=phone.next_code()).status_code == 302


@pytest.mark.parametrize("email", ["alice@example.com", "no address", "a@b@c.example", "", "x" * 250 + "@e.org"])
def test_an_invalid_address_uses_up_no_attempt(alice: User, email: str) -> None:
    page = ask(browser_of(alice), email, password="wrong").content.decode()
    assert "not your password" not in page
    assert not OutgoingMail.objects.exists()


def test_only_the_mailbox_of_a_taken_address_is_notified(alice: User, bob: User) -> None:
    client = browser_of(alice)
    taken, free = ask(client, bob.email), ask(client)
    assert (taken.status_code, taken.headers["Location"]) == (free.status_code, free.headers["Location"])
    told = [str(next(iter(browser.context["messages"]))) for browser in [client.get("/settings")]]
    assert bob.email in told[0]
    deliver()
    assert sorted(each.to for each in mail.outbox) == [[NEW], [bob.email]]
    of_bob = next(each for each in mail.outbox if each.to == [bob.email])
    assert "has an account there already" in str(of_bob.body)
    assert "confirm?" not in str(of_bob.body)


def test_an_address_taken_meanwhile_stays_its_owner_s(alice: User, bob: User) -> None:
    client = browser_of(alice)
    ask(client)
    link = link_in_mail()
    User.objects.filter(pk=bob.pk).update(email=NEW)
    answer = client.post(link)
    assert answer.status_code == 409
    assert "Another account already uses this email" in answer.content.decode()
    assert email_of(alice) == "alice@example.com"
    assert is_in(client)


def test_a_link_works_for_its_user_only(alice: User, bob: User) -> None:
    ask(browser_of(alice))
    link = link_in_mail()
    for method in ("get", "post"):
        assert Client().generic(method.upper(), link).headers["Location"].startswith("/sign-in?next=/settings/email")
        assert NOT_CHANGED in browser_of(bob).generic(method.upper(), link).content.decode()
    assert Client(enforce_csrf_checks=True).post(link).status_code == 403
    for broken in (link + "x", link.replace("link=", "link=x"), "/settings/email/confirm", link[:-2]):
        assert NOT_CHANGED in browser_of(alice).post(broken).content.decode()
    assert NOT_CHANGED in browser_of(alice).post("/settings/email/confirm?link=" + "x" * 9999).content.decode()
    assert (email_of(alice), email_of(bob)) == ("alice@example.com", "bob@example.com")


@pytest.mark.parametrize("later", [timedelta(days=1, minutes=1), timedelta(days=-1)])
def test_a_link_ends_after_a_day_and_with_all_sessions(
    alice: User, later: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser_of(alice)
    ask(client)
    link, now = link_in_mail(), clock.now()
    with monkeypatch.context() as patch:
        patch.setattr("accounts.credentials.email_tokens.clock", Mock(now=lambda: now + later))
        assert NOT_CHANGED in client.get(link).content.decode()
    assert NOT_CHANGED not in client.get(link).content.decode()
    sign_out_everywhere(user=alice)
    assert NOT_CHANGED in browser_of(User.objects.get()).post(link).content.decode()


def test_a_mail_that_is_sent_after_all_sessions_were_ended_is_not_needed(alice: User) -> None:
    ask(browser_of(alice))
    sign_out_everywhere(user=alice)
    deliver()
    assert not mail.outbox
    assert OutgoingMail.objects.get().state == "not needed"


def test_only_one_of_two_links_counts(alice: User) -> None:
    client = browser_of(alice)
    links = [ask(client, f"{number}@example.com") and link_in_mail() for number in range(2)]
    assert client.post(links[1]).status_code == 302
    assert client.post(links[0]).status_code == 409
    assert email_of(alice) == "1@example.com"


def test_mails_are_few(alice: User, bob: User) -> None:
    clients = [browser_of(alice), browser_of(bob)]
    answers = [ask(clients[number % 2], NEW).status_code for number in range(2 * ASKED_PER_USER)]
    assert set(answers) == {302}
    assert OutgoingMail.objects.count() == MAILS_PER_ADDRESS
    refused = ask(clients[0], "other@example.com")
    assert refused.status_code == 429
    assert "too many links within an hour" in refused.content.decode()
    UsageCounter.objects.all().delete()
    assert ask(clients[0], "other@example.com").status_code == 302


def test_without_a_mail_server_the_staff_are_named(alice: User, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    client = browser_of(alice)
    assert "Ask the staff" in ask(client).content.decode()
    assert not OutgoingMail.objects.exists()
