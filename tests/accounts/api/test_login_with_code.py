"""POST /api/auth/login by users with a second factor. For all others `code` changes nothing."""

import pytest

from accounts.models import User
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call

LOGIN = "/api/auth/login"
BODY = {"email": "alice@example.com", "password": CANARY_PASSWORD}


def test_email_and_password_are_not_enough(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    answer = call("POST", LOGIN, BODY)

    assert (answer.status_code, answer.json()["code"]) == (401, "second_factor_required")
    assert "token" not in answer.json()
    assert answer["WWW-Authenticate"] == "Bearer"


def test_with_the_code_credentials_are_accepted(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    answer = call("POST", LOGIN, {**BODY, "code": phone.next_code()})

    assert answer.status_code == 200
    assert call("GET", "/api/auth/session", by=answer.json()["token"]).json()["authenticated"] is True


def test_a_recovery_code_works_once(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    body = {**BODY, "code": phone.recovery_codes[0]}

    assert [call("POST", LOGIN, body).status_code for _ in range(2)] == [200, 401]


def test_a_wrong_code_is_answered_like_none(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    bodies = [BODY, {**BODY, "code": ""}, {**BODY, "code": phone.wrong_code()}, {**BODY, "code": "no code"}]
    answers = [call("POST", LOGIN, body, **{"X-Request-ID": "same"}) for body in bodies]

    assert len({answer.content for answer in answers}) == 1


def test_without_the_password_nobody_learns_of_the_second_factor(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    body = {**BODY, "password": "wrong", "code": phone.next_code()}

    assert call("POST", LOGIN, body).json()["code"] == "invalid_credentials"
    assert call("POST", LOGIN, {**body, "password": CANARY_PASSWORD}).status_code == 200  # the code was not used up


def test_ten_wrong_codes_close_the_account_for_the_page_too(
    call: Call, client: object, alice: User, phone: Phone
) -> None:
    phone.enrol(alice)
    for _ in range(10):
        assert call("POST", LOGIN, {**BODY, "code": phone.wrong_code()}).status_code == 401

    closed = call("POST", LOGIN, {**BODY, "code": phone.next_code()})
    assert (closed.status_code, closed.json()["code"]) == (429, "throttled")


def test_a_login_without_a_code_is_no_attempt(call: Call, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    for _ in range(11):
        call("POST", LOGIN, BODY)

    assert call("POST", LOGIN, {**BODY, "code": phone.next_code()}).status_code == 200


@pytest.mark.parametrize("code", ["123456", ""])
def test_without_a_second_factor_a_code_is_ignored(call: Call, alice: User, code: str) -> None:
    assert call("POST", LOGIN, {**BODY, "code": code}).status_code == 200


@pytest.mark.parametrize("code", [123456, None, ["123456"], "x" * 65, "12\x003456"])
def test_a_code_is_a_short_string(call: Call, alice: User, code: object) -> None:
    answer = call("POST", LOGIN, {**BODY, "code": code})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "code")
