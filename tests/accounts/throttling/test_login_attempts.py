"""At most ten password checks per account and address in 15 minutes, no matter how many come at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.errors import TooManyAttemptsError
from accounts.models import LoginCounter, User
from accounts.throttling.login_attempts import check_limit, reset_attempts
from tests.accounts.throttling.attempts import is_open
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call

WRONG = {"email": "alice@example.com", "password": "wrong"}


def _fail_ten_times(address: str = "192.0.2.1") -> None:
    for _ in range(10):
        check_limit(email="alice@example.com", address=address)


def _age(minutes: int) -> None:
    LoginCounter.objects.update(last_attempt_at=timezone.now() - timedelta(minutes=minutes, seconds=1))


@pytest.mark.django_db(transaction=True)
def test_sixteen_attackers_at_once_get_ten_checks_between_them(alice: User) -> None:
    together = threading.Barrier(16)

    def attack(_: int) -> list[int]:
        client = Client()
        together.wait()
        try:
            return [
                client.post("/api/auth/login", WRONG, content_type="application/json").status_code for _ in range(3)
            ]
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as threads:
        statuses = [status for answers in threads.map(attack, range(16)) for status in answers]
    assert (statuses.count(401), statuses.count(429), len(statuses)) == (10, 38, 48)


def test_page_and_api_share_the_count(call: Call, client: Client, alice: User) -> None:
    for _ in range(5):
        call("POST", "/api/auth/login", WRONG)
        assert client.post("/sign-in", WRONG).status_code == 200

    assert call("POST", "/api/auth/login", WRONG).status_code == 429
    page = client.post("/sign-in", WRONG)
    assert page.status_code == 429
    assert 0 < int(page["Retry-After"]) <= 900


def test_another_address_and_another_account_are_not_closed(db: None) -> None:
    _fail_ten_times()

    assert not is_open("192.0.2.1")
    assert is_open("192.0.2.2")
    assert is_open(None)
    assert is_open("192.0.2.1", email="bob@example.com")


def test_another_spelling_is_the_same_account(db: None) -> None:
    _fail_ten_times()

    assert not is_open("192.0.2.1", email=" ALICE@example.com")


def test_the_addresses_of_one_ipv6_prefix_count_as_one(db: None) -> None:
    _fail_ten_times("2001:db8:1:2::1")

    assert not is_open("2001:db8:1:2:ffff::9")
    assert is_open("2001:db8:1:3::1")


def test_an_account_opens_again_after_15_minutes_without_an_attempt(db: None) -> None:
    _fail_ten_times()
    _age(14)
    assert not is_open("192.0.2.1")
    _age(15)
    _fail_ten_times()
    assert not is_open("192.0.2.1")


def test_a_slow_attacker_gets_no_more_than_a_fast_one(db: None) -> None:
    """A window that begins at fixed times would allow nine checks before its end and ten after."""
    for _ in range(10):
        assert is_open("192.0.2.1")
        _age(10)

    assert not is_open("192.0.2.1")


def test_refused_tries_do_not_prolong_the_wait(db: None) -> None:
    _fail_ten_times()
    _age(10)
    with pytest.raises(TooManyAttemptsError) as refused:
        check_limit(email="alice@example.com", address="192.0.2.1")

    assert 290 <= refused.value.retry_after <= 300
    assert "5 minutes" in str(refused.value)


def test_no_email_is_kept(db: None) -> None:
    _fail_ten_times()

    assert "alice" not in str(LoginCounter.objects.values())


def test_counters_that_no_longer_count_are_cleared_away(call: Call, alice: User) -> None:
    is_open("192.0.2.1", email="long-ago@example.com")
    _age(15)
    call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD})
    assert not LoginCounter.objects.exists()


@pytest.mark.rare(1)
@pytest.mark.django_db(transaction=True)
def test_a_successful_sign_in_locks_out_no_simultaneous_one(alice: User) -> None:
    together = threading.Barrier(8)

    def sign_in(_: int) -> int:
        together.wait()
        try:
            for _ in range(20):
                check_limit(email=alice.email, address="192.0.2.1")
                reset_attempts(email=alice.email, address="192.0.2.1")
        finally:
            connection.close()
        return 20

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(sign_in, range(8))) == 160
