"""Which passwords are accepted: 12 to 128 characters, none of the common ones, unchanged."""

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from tests.canaries import CANARY_PASSWORD
from tests.settings import REAL_PASSWORD_HASHERS


def _change(client: Client, new: str, *, current: str = CANARY_PASSWORD, again: str | None = None) -> str:
    """Returns the page that answers a change of the password."""
    fields = {"current": current, "new": new, "again": new if again is None else again}
    return client.post("/settings/password", fields, follow=True).content.decode()


@pytest.mark.parametrize(
    "password",
    [
        "twelve chars",
        "correcthorsebattery",
        "sunshine in a drawer",
        "a" * 64 + "Zq9",
        "ü" * 128,
        "  around  it  ",
        "密码密码密码密码密码密码",
    ],
)
def test_good_passwords_are_accepted_and_sign_in(client: Client, alice: User, password: str) -> None:
    client.force_login(alice)

    assert "Your password is changed" in _change(client, password)
    body = {"email": alice.email, "password": password}
    assert client.post("/api/auth/login", body, content_type="application/json").status_code == 200
    body["password"] = password.strip()[:-1] + "?"
    assert client.post("/api/auth/login", body, content_type="application/json").status_code == 401


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("eleven char", "too short"),
        ("a" * 129, "at most 128"),
        ("professional", "too common"),
        ("1234567890123", "too common"),
        ("passwordpassword", "too common"),
        ("abcabcabcabcabc", "too common"),
        ("dragonsunshine", "too common"),
        ("Iloveyou123456", "too common"),
        ("alice@example.com", "too similar"),
        ("tab\tbetween them", "control characters"),
        ("nul\0between them", "Null characters"),
    ],
)
def test_these_are_refused_with_the_reason(client: Client, alice: User, password: str, reason: str) -> None:
    client.force_login(alice)

    assert reason in _change(client, password)
    assert User.objects.get(pk=alice.pk).check_password(CANARY_PASSWORD)


def test_common_passwords_are_refused_in_any_letter_case() -> None:
    for password in ("1QAZ2wsx3edc", "International", "Password1234"):
        with pytest.raises(ValidationError):
            validate_password(password)


def test_the_two_must_be_the_same(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert "differ" in _change(client, "a passphrase, new", again="a passphrase, now")


def test_the_current_password_must_be_right_and_cannot_be_guessed(client: Client, alice: User) -> None:
    client.force_login(alice)
    pages = [_change(client, "a passphrase, new", current="wrong") for _ in range(11)]

    assert all("not your current password" in page for page in pages[:10])
    assert "Too many failed attempts" in pages[10]
    assert User.objects.get(pk=alice.pk).check_password(CANARY_PASSWORD)


def test_no_page_returns_a_password(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert "too short but told" not in _change(client, "too short but told", again="x")


def test_passwords_are_stored_with_argon2(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = REAL_PASSWORD_HASHERS

    assert make_password("a passphrase, new").startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
