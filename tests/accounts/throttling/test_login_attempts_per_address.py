"""At most a hundred failed password checks per address in 15 minutes, no matter for how many accounts."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.db.models import F

from accounts.models import LoginCounter, UsageCounter, User
from accounts.throttling.login_attempts import ADDRESS_LIMIT, LIMIT
from tests.accounts.throttling.attempts import is_open
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call

WRONG = {"email": "alice@example.com", "password": "wrong"}


def _fail_at_many_accounts(address: str, times: int = ADDRESS_LIMIT) -> None:
    for number in range(times):
        assert is_open(address, email=f"victim{number}@example.com")


def test_one_password_tried_at_many_accounts_closes_the_address_after_a_hundred(call: Call, alice: User) -> None:
    _fail_at_many_accounts("127.0.0.1")

    closed = call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD})
    assert (closed.status_code, closed.json()["code"]) == (429, "throttled")
    assert 0 < int(closed["Retry-After"]) <= 900
    assert is_open("192.0.2.2", email=alice.email)


def test_the_addresses_of_one_ipv6_prefix_share_the_limit(db: None) -> None:
    for number in range(ADDRESS_LIMIT):
        assert is_open(f"2001:db8:1:2::{number:x}", email=f"victim{number}@example.com")

    assert not is_open("2001:db8:1:2:ffff::1", email="last@example.com")
    assert is_open("2001:db8:1:3::1", email="last@example.com")


def test_an_address_is_opened_in_the_next_quarter_of_an_hour(db: None) -> None:
    _fail_at_many_accounts("192.0.2.1")
    UsageCounter.objects.update(window=F("window") - 1)

    assert is_open("192.0.2.1", email="last@example.com")


def test_a_right_password_does_not_count_against_the_address(call: Call, alice: User) -> None:
    _fail_at_many_accounts("127.0.0.1", times=ADDRESS_LIMIT - 1)
    body = {"email": alice.email, "password": CANARY_PASSWORD}

    assert [call("POST", "/api/auth/login", body).status_code for _ in range(3)] == [200, 200, 200]
    assert call("POST", "/api/auth/login", WRONG).status_code == 401
    assert call("POST", "/api/auth/login", body).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_many_at_once_at_many_accounts_get_a_hundred_between_them() -> None:
    together = threading.Barrier(16)

    def attack(thread: int) -> int:
        together.wait()
        try:
            return sum(is_open("192.0.2.1", email=f"victim{thread}-{number}@example.com") for number in range(8))
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(attack, range(16))) == ADDRESS_LIMIT


def test_addresses_that_no_longer_count_are_forgotten(call: Call, alice: User) -> None:
    is_open("192.0.2.1")
    UsageCounter.objects.update(window=F("window") - 1)
    call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD})

    assert not UsageCounter.objects.filter(subject="192.0.2.1").exists()


def test_a_closed_address_creates_no_counters_of_further_accounts(db: None) -> None:
    _fail_at_many_accounts("192.0.2.1")
    before = LoginCounter.objects.count()

    assert not any(is_open("192.0.2.1", email=f"made-up-{number}@example.com") for number in range(20))
    assert LoginCounter.objects.count() == before


def test_attempts_refused_for_one_account_do_not_close_the_address_for_others(db: None) -> None:
    for _ in range(ADDRESS_LIMIT + LIMIT):
        is_open("192.0.2.1", email="victim@example.com")

    assert not is_open("192.0.2.1", email="victim@example.com")
    assert is_open("192.0.2.1", email="other@example.com")
