"""A thief of the password uses up the attempts at a code. The owner can still sign in, and is notified."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.models import KnownNetwork, OutgoingMail, User
from accounts.services import code_alarm
from accounts.services.second_factor import disable_second_factor
from accounts.throttling.known_networks import MOST
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN, is_in
from tests.accounts.phone import Phone
from tests.mailing import deliver

HOME, THIEF = "198.51.100.7", "203.0.113.66"
SignIn = Callable[..., int]


@pytest.fixture(autouse=True)
def _mail(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True


@pytest.fixture
def sign_in(alice: User, phone: Phone) -> SignIn:
    """Signs in from an address with a code, by default the next right one. Returns the status of the last page."""
    phone.enrol(alice)

    def post(address: str, code: str | None = None) -> int:
        client = Client(REMOTE_ADDR=address)
        client.post("/sign-in", SIGN_IN)
        answer = client.post(CODE, {"code": code or phone.next_code()})
        assert is_in(client) == (answer.status_code == 302)
        return int(answer.status_code)

    return post


def log_in(address: str, code: str) -> int:
    body = {**SIGN_IN, "code": code}
    answer = Client(REMOTE_ADDR=address).post("/api/auth/login", body, content_type="application/json")
    return int(answer.status_code)


@pytest.fixture
def locked(sign_in: SignIn, phone: Phone) -> SignIn:
    """The owner has signed in at home; then a thief has used up the attempts, most of them through a shortcut."""
    assert sign_in(HOME) == 302
    for number in range(9):
        assert log_in(f"203.0.113.{number}", phone.wrong_code()) == 401
    assert sign_in("203.0.113.9", phone.wrong_code()) == 200
    return sign_in


def test_the_owner_gets_in_at_home_while_a_thief_is_locked_out(locked: SignIn, phone: Phone) -> None:
    assert locked(THIEF) == 429
    assert locked(HOME) == 302
    assert log_in(HOME, phone.next_code()) == 200
    assert locked(THIEF) == 429


def test_signing_in_at_home_gives_the_thief_no_more_attempts(locked: SignIn, phone: Phone) -> None:
    assert locked(HOME) == 302
    assert locked(THIEF, phone.wrong_code()) == 429


def test_at_home_there_are_ten_tries_too(locked: SignIn, phone: Phone) -> None:
    assert [locked(HOME, phone.wrong_code()) for _ in range(10)] == [200] * 10
    assert locked(HOME) == 429


def test_a_network_known_for_another_user_does_not_count(locked: SignIn, bob: User) -> None:
    KnownNetwork.objects.create(user=bob, network=THIEF)
    assert locked(THIEF) == 429


def test_a_right_password_alone_does_not_make_a_network_known(sign_in: SignIn, phone: Phone) -> None:
    """Neither on the dashboard nor over the API, with a wrong code or without one."""
    sign_in(THIEF, phone.wrong_code())
    assert log_in(THIEF, phone.wrong_code()) == log_in(THIEF, "") == 401
    assert not KnownNetwork.objects.exists()


def test_the_code_makes_a_network_known_through_page_and_api(sign_in: SignIn, phone: Phone) -> None:
    assert sign_in(HOME) == 302
    assert log_in(THIEF, phone.next_code()) == 200
    assert set(KnownNetwork.objects.values_list("network", flat=True)) == {HOME, THIEF}


def test_an_ipv6_prefix_counts_as_one_network(sign_in: SignIn) -> None:
    sign_in("2001:db8:1:2::1")
    sign_in("2001:db8:1:2:ffff::9")
    assert [known.network for known in KnownNetwork.objects.all()] == ["2001:db8:1:2::/64"]


def test_only_the_last_few_networks_are_known(sign_in: SignIn) -> None:
    for number in range(MOST + 3):
        assert sign_in(f"198.51.100.{number}") == 302
    known = set(KnownNetwork.objects.values_list("network", flat=True))
    assert known == {f"198.51.100.{number}" for number in range(3, MOST + 3)}


def test_a_network_unused_for_long_is_no_longer_known(locked: SignIn) -> None:
    KnownNetwork.objects.update(used_at=timezone.now() - timedelta(days=91))
    assert locked(HOME) == 429


def test_networks_go_with_the_second_factor(locked: SignIn, alice: User) -> None:
    disable_second_factor(user=alice, session=None)
    assert not KnownNetwork.objects.exists()


def test_the_owner_gets_a_mail_when_the_attempts_are_used_up(locked: SignIn, alice: User, phone: Phone) -> None:
    deliver()
    [message] = mail.outbox
    assert message.to == [alice.email]
    assert "203.0.113.9" in message.body
    assert phone.wrong_code() not in message.body
    for _ in range(5):
        locked(THIEF)
    deliver()
    assert len(mail.outbox) == 1


def test_nine_wrong_codes_make_no_mail(sign_in: SignIn, phone: Phone) -> None:
    for _ in range(9):
        sign_in(THIEF, phone.wrong_code())
    deliver()
    assert not mail.outbox


def test_a_day_has_three_mails(alice: User) -> None:
    for _ in range(5):
        code_alarm.send_code_alarm(user=alice, address=THIEF)
    deliver()
    assert len(mail.outbox) == code_alarm.MAILS_A_DAY


def test_without_a_mail_server_there_is_no_mail(alice: User, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    code_alarm.send_code_alarm(user=alice, address=None)
    deliver()
    assert not mail.outbox


def test_typing_a_code_does_not_wait_for_the_mail_server(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("A request waits for nobody.")

    monkeypatch.setattr(mail.EmailMessage, "send", refuse)
    code_alarm.send_code_alarm(user=alice, address=THIEF)
    assert OutgoingMail.objects.get().kind == code_alarm.KIND
