"""How often a code may be tried on the sign-in page. Each code works once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from accounts.errors import WrongCodeError
from accounts.models import User
from accounts.services.second_factor import check_second_factor
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN, is_in
from tests.accounts.phone import Phone


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_one_of_eight_simultaneous_uses_of_a_code_signs_in(alice: User, phone: Phone, kind: str) -> None:
    phone.enrol(alice)
    code = phone.next_code() if kind == "app" else phone.recovery_codes[0]
    together = threading.Barrier(8)

    def check(_: int) -> bool:
        together.wait()
        try:
            check_second_factor(user=alice, code=code, address=None)
        except WrongCodeError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(check, range(8))) == [False] * 7 + [True]


def test_ten_wrong_codes_from_any_addresses_close_the_account(half_way: Client, phone: Phone) -> None:
    for number in range(10):
        assert half_way.post(CODE, {"code": phone.wrong_code()}, REMOTE_ADDR=f"192.0.2.{number}").status_code == 200

    closed = half_way.post(CODE, {"code": phone.code()})
    assert closed.status_code == 429
    assert 0 < int(closed["Retry-After"]) <= 900
    assert not is_in(half_way)


def test_typing_the_password_again_gives_no_more_attempts(half_way: Client, phone: Phone) -> None:
    for _ in range(10):
        half_way.post("/sign-in", SIGN_IN)
        half_way.post(CODE, {"code": phone.wrong_code()})

    half_way.post("/sign-in", SIGN_IN)
    assert half_way.post(CODE, {"code": phone.code()}).status_code == 429


def test_wrong_codes_before_a_right_one_are_forgotten(half_way: Client, phone: Phone) -> None:
    for code in [phone.wrong_code()] * 9 + [phone.code()]:
        half_way.post(CODE, {"code": code})

    assert is_in(half_way)
