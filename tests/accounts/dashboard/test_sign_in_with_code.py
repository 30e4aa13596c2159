"""Signing in to the dashboard takes the password and, from whoever has a second factor, its code."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.errors import WrongCodeError
from accounts.models import SecondFactor, User
from accounts.services.second_factor import check_second_factor
from accounts.services.sign_in import set_password
from tests.accounts.conftest import Said
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD

SIGN_IN = {"email": "alice@example.com", "password": CANARY_PASSWORD}
CODE = "/sign-in/code"


@pytest.fixture
def half(client: Client, alice: User, phone: Phone) -> Client:
    """Alice, who has a second factor, has typed her password."""
    phone.enrol(alice)
    phone.now += 30
    client.post("/sign-in", SIGN_IN)
    return client


def _is_in(client: Client) -> bool:
    return client.get("/settings").status_code == 200


def test_the_password_alone_lets_nobody_in(half: Client) -> None:
    for path in ("/settings", "/settings/keys", "/settings/second-factor", "/settings/second-factor/off", "/admin/"):
        assert "/sign-in?" in half.get(path, follow=True).redirect_chain[-1][0]
    assert "_auth_user_id" not in Session.objects.get().get_decoded()


def test_the_code_does(half: Client, phone: Phone, said: Said, alice: User) -> None:
    answer = half.post(CODE, {"code": phone.code()})

    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert _is_in(half)
    assert said()[-1] == f"signed_in user={alice.pk} to=dashboard address=127.0.0.1"


def test_without_a_second_factor_there_is_no_second_page(client: Client, alice: User) -> None:
    client.post("/sign-in", SIGN_IN)

    assert _is_in(client)


@pytest.mark.parametrize("wanted", ["/settings?x=1", "https://evil.example/"])
def test_it_leads_where_one_wanted_to_go_but_never_out(client: Client, alice: User, phone: Phone, wanted: str) -> None:
    phone.enrol(alice)
    page = client.post("/sign-in", {**SIGN_IN, "next": wanted}, follow=True)
    answer = client.post(page.redirect_chain[-1][0], {"code": phone.next_code(), "next": page.context["next"]})

    assert answer.headers["Location"] == (wanted if wanted.startswith("/") else "/")


def test_the_session_of_the_password_is_not_that_of_the_code(half: Client, phone: Phone) -> None:
    before = half.cookies["__Host-berth-session"].value
    half.post(CODE, {"code": phone.code()})

    assert half.cookies["__Host-berth-session"].value != before
    assert 0 <= 12 * 3600 - (Session.objects.get().expire_date - timezone.now()).total_seconds() < 60


@pytest.mark.parametrize(
    "code", ["", "12345", "1234567", "abcdef", "-00001", "+12345", "\uff11" * 6, "x" * 64, "x" * 65]
)
def test_what_is_no_code_is_refused(half: Client, code: str) -> None:
    assert half.post(CODE, {"code": code}).status_code == 200
    assert not _is_in(half)


def test_a_wrong_code_is_refused_and_said_in_the_log(half: Client, phone: Phone, alice: User, said: Said) -> None:
    wrong = phone.wrong_code()
    page = half.post(CODE, {"code": wrong})

    assert "This code is wrong, too old or used already." in page.content.decode()
    assert said()[-1] == f"second_factor_failed user={alice.pk} address=127.0.0.1"
    assert not _is_in(half)


@pytest.mark.parametrize(("periods", "taken"), [(-2, False), (-1, False), (0, True), (1, True), (2, False)])
def test_a_code_of_the_neighbouring_period_is_taken_but_none_before_the_last_one(
    half: Client, phone: Phone, periods: int, taken: bool
) -> None:
    half.post(CODE, {"code": phone.code(periods=periods)})

    assert _is_in(half) is taken


def test_a_code_is_spread_over_spaces_as_apps_show_it(half: Client, phone: Phone) -> None:
    code = phone.code()
    half.post(CODE, {"code": f" {code[:3]} {code[3:]} "})

    assert _is_in(half)


def test_a_code_works_once(half: Client, phone: Phone) -> None:
    code = phone.code()
    half.post(CODE, {"code": code})
    other = Client()
    other.post("/sign-in", SIGN_IN)
    other.post(CODE, {"code": code})

    assert not _is_in(other)


def test_the_code_that_set_it_up_signs_nobody_in(client: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    client.post("/sign-in", SIGN_IN)
    client.post(CODE, {"code": phone.code()})

    assert not _is_in(client)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_eight_who_bring_the_same_code_at_once_one_gets_in(alice: User, phone: Phone, kind: str) -> None:
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


def test_ten_wrong_codes_close_it_whatever_the_address(half: Client, phone: Phone) -> None:
    for number in range(10):
        assert half.post(CODE, {"code": phone.wrong_code()}, REMOTE_ADDR=f"192.0.2.{number}").status_code == 200

    closed = half.post(CODE, {"code": phone.code()})
    assert closed.status_code == 429
    assert 0 < int(closed["Retry-After"]) <= 900
    assert not _is_in(half)


def test_typing_the_password_again_gives_no_more_tries(half: Client, phone: Phone) -> None:
    for _ in range(10):
        half.post("/sign-in", SIGN_IN)
        half.post(CODE, {"code": phone.wrong_code()})

    half.post("/sign-in", SIGN_IN)
    assert half.post(CODE, {"code": phone.code()}).status_code == 429


def test_wrong_codes_before_the_right_one_are_forgiven(half: Client, phone: Phone) -> None:
    for code in [phone.wrong_code()] * 9 + [phone.code()]:
        half.post(CODE, {"code": code})

    assert _is_in(half)


def test_after_five_minutes_the_password_has_to_come_again(
    half: Client, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = timezone.now() + timedelta(minutes=5, seconds=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    half.post(CODE, {"code": phone.code()})

    assert not _is_in(half)
    assert half.get(CODE).headers["Location"] == "/sign-in"


def test_a_password_changed_in_between_does_not_count(half: Client, phone: Phone, alice: User) -> None:
    set_password(user=alice, password="a passphrase, entirely new")
    half.post(CODE, {"code": phone.code()})

    assert not _is_in(half)


def test_who_was_made_inactive_in_between_does_not_get_in(half: Client, phone: Phone, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    half.post(CODE, {"code": phone.code()})

    assert not _is_in(half)


def test_the_second_page_is_nothing_without_the_first(client: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)

    assert client.get(f"{CODE}?next=/admin/").headers["Location"] == "/sign-in?next=%2Fadmin%2F"
    assert "Sign in again." in client.post(CODE, {"code": phone.next_code()}).content.decode()
    assert not _is_in(client)


def test_ones_own_code_does_not_open_anothers_account(half: Client, bob: User) -> None:
    bobs = Phone(now=0)
    bobs.scan("A" * 32)
    SecondFactor.objects.filter(user=bob).delete()

    assert half.post(CODE, {"code": bobs.code()}).status_code == 200
    assert not _is_in(half)


def test_a_recovery_code_works_once_in_any_spelling(half: Client, phone: Phone, alice: User, said: Said) -> None:
    code = phone.recovery_codes[3]
    half.post(f"{CODE}?recovery", {"code": f" {code.upper().replace('-', ' ')} "})
    assert "Recovery codes left: 9." in half.get("/settings").content.decode()
    assert f"recovery_code_used user={alice.pk} left=9" in said()

    other = Client()
    other.post("/sign-in", SIGN_IN)
    other.post(f"{CODE}?recovery", {"code": code})
    assert not _is_in(other)


def test_anothers_recovery_code_is_refused_and_kept(half: Client, bob: User) -> None:
    bobs = Phone()
    bobs.enrol(bob)
    half.post(f"{CODE}?recovery", {"code": bobs.recovery_codes[0]})

    assert not _is_in(half)
    assert bob.recovery_codes.count() == 10


def test_a_form_without_its_token_is_refused(alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    client = Client(enforce_csrf_checks=True)

    assert client.post(CODE, {"code": phone.next_code()}).status_code == 403
