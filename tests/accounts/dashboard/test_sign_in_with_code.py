"""Signing in to the dashboard requires the password and, with a second factor, its code."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import SecondFactor, User
from accounts.services.second_factor import reset_second_factor
from accounts.services.sign_in import set_password
from accounts.throttling.login_attempts import LIMIT
from tests.accounts.conftest import Said
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN, is_in
from tests.accounts.phone import Phone


def test_the_password_alone_does_not_sign_in(half_way: Client) -> None:
    for path in ("/settings", "/settings/keys", "/settings/second-factor", "/settings/second-factor/off", "/admin/"):
        assert "/sign-in?" in half_way.get(path, follow=True).redirect_chain[-1][0]
    assert "_auth_user_id" not in Session.objects.get().get_decoded()


def test_the_code_does(half_way: Client, phone: Phone, said: Said, alice: User) -> None:
    answer = half_way.post(CODE, {"code": phone.code()})

    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert is_in(half_way)
    assert said()[-1] == f"signed_in user={alice.pk} to=dashboard address=127.0.0.1"


def test_without_a_second_factor_there_is_no_second_page(client: Client, alice: User) -> None:
    client.post("/sign-in", SIGN_IN)

    assert is_in(client)


@pytest.mark.parametrize("wanted", ["/settings?x=1", "https://evil.example/"])
def test_signing_in_leads_to_the_requested_page_but_never_to_another_site(
    client: Client, alice: User, phone: Phone, wanted: str
) -> None:
    phone.enrol(alice)
    page = client.post("/sign-in", {**SIGN_IN, "next": wanted}, follow=True)
    answer = client.post(page.redirect_chain[-1][0], {"code": phone.next_code(), "next": page.context["next"]})

    assert answer.headers["Location"] == (wanted if wanted.startswith("/") else "/")


def test_the_session_of_the_password_is_not_that_of_the_code(half_way: Client, phone: Phone) -> None:
    before = half_way.cookies["__Host-berth-session"].value
    half_way.post(CODE, {"code": phone.code()})

    assert half_way.cookies["__Host-berth-session"].value != before
    assert 0 <= 12 * 3600 - (Session.objects.get().expire_date - timezone.now()).total_seconds() < 60


@pytest.mark.parametrize(
    "code", ["", "12345", "1234567", "abcdef", "-00001", "+12345", "\uff11" * 6, "x" * 64, "x" * 65]
)
def test_a_malformed_code_is_refused(half_way: Client, code: str) -> None:
    assert half_way.post(CODE, {"code": code}).status_code == 200
    assert not is_in(half_way)


def test_a_wrong_code_is_refused_and_logged(half_way: Client, phone: Phone, alice: User, said: Said) -> None:
    wrong = phone.wrong_code()
    page = half_way.post(CODE, {"code": wrong})

    assert "This code is wrong, too old or already used." in page.content.decode()
    assert said()[-1] == f"second_factor_failed user={alice.pk} address=127.0.0.1"
    assert not is_in(half_way)


@pytest.mark.parametrize(("periods", "taken"), [(-2, False), (-1, False), (0, True), (1, True), (2, False)])
def test_a_code_of_a_neighbouring_period_is_accepted_but_none_older_than_the_last(
    half_way: Client, phone: Phone, periods: int, taken: bool
) -> None:
    half_way.post(CODE, {"code": phone.code(periods=periods)})

    assert is_in(half_way) is taken


def test_a_code_may_contain_spaces_as_apps_show_it(half_way: Client, phone: Phone) -> None:
    code = phone.code()
    half_way.post(CODE, {"code": f" {code[:3]} {code[3:]} "})

    assert is_in(half_way)


def test_a_code_works_once(half_way: Client, phone: Phone) -> None:
    code = phone.code()
    half_way.post(CODE, {"code": code})
    other = Client()
    other.post("/sign-in", SIGN_IN)
    other.post(CODE, {"code": code})

    assert not is_in(other)


def test_the_code_used_for_the_setup_does_not_sign_in(client: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    client.post("/sign-in", SIGN_IN)
    client.post(CODE, {"code": phone.code()})

    assert not is_in(client)


def test_after_five_minutes_the_password_is_required_again(
    half_way: Client, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = timezone.now() + timedelta(minutes=5, seconds=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    half_way.post(CODE, {"code": phone.code()})

    assert not is_in(half_way)
    assert half_way.get(CODE).headers["Location"] == "/sign-in"


def test_a_password_changed_in_between_does_not_count(half_way: Client, phone: Phone, alice: User) -> None:
    set_password(user=alice, password="a passphrase, entirely new")
    half_way.post(CODE, {"code": phone.code()})

    assert not is_in(half_way)


def test_a_user_deactivated_in_between_does_not_get_in(half_way: Client, phone: Phone, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    half_way.post(CODE, {"code": phone.code()})

    assert not is_in(half_way)


def test_the_second_page_is_nothing_without_the_first(client: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)

    assert client.get(f"{CODE}?next=/admin/").headers["Location"] == "/sign-in?next=%2Fadmin%2F"
    assert "Sign in again." in client.post(CODE, {"code": phone.next_code()}).content.decode()
    assert not is_in(client)


def test_a_code_does_not_open_another_user_s_account(half_way: Client, bob: User) -> None:
    bobs = Phone(now=0)
    bobs.scan("A" * 32)
    SecondFactor.objects.filter(user=bob).delete()

    assert half_way.post(CODE, {"code": bobs.code()}).status_code == 200
    assert not is_in(half_way)


def test_a_form_without_its_csrf_token_is_refused(alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    client = Client(enforce_csrf_checks=True)

    assert client.post(CODE, {"code": phone.next_code()}).status_code == 403


@pytest.mark.parametrize("page", [CODE, f"{CODE}?recovery"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_after_a_reset_of_the_second_factor_the_sign_in_begins_again(
    half_way: Client, alice: User, ada: User, phone: Phone, page: str, method: str
) -> None:
    reset_second_factor(user=alice, by=ada)
    for _ in range(LIMIT + 1):
        answer = getattr(half_way, method)(page, {"code": phone.code(), "next": "/settings"}, follow=True)
        assert answer.redirect_chain[-1][0] == "/sign-in?next=%2Fsettings"
    assert "Your second factor was reset meanwhile. Sign in again." in answer.content.decode()
    assert "not carried out" not in answer.content.decode()
    half_way.post("/sign-in", SIGN_IN)
    assert is_in(half_way)
