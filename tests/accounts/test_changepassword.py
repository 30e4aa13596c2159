"""`manage.py changepassword`, also without a terminal: it reads the password from its input, and warns of nothing."""

import getpass
import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.management.commands import changepassword
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
FORMER, LATER = "former-phrase-of-a-test", "later-phrase-of-a-test"


def change(given: str, monkeypatch: pytest.MonkeyPatch, email: str = "ada@berth.example") -> str:
    """Runs the command as Python does without a terminal."""
    monkeypatch.setattr(sys, "stdin", StringIO(given))
    monkeypatch.setattr(changepassword, "getpass", lambda prompt: getpass.fallback_getpass(prompt, None))  # type: ignore[attr-defined]  # not in the stubs
    output = StringIO()
    call_command("changepassword", email, stdout=output, stderr=output)
    return output.getvalue()


@pytest.mark.parametrize("email", ["ada@berth.example", "Ada@Berth.example", " ada@berth.example "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_password_may_come_from_another_program(
    email: str, ending: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    user = UserFactory.create(email="ada@berth.example", password=FORMER)
    assert "Password changed successfully" in change(f"{LATER}{ending}" * 2, monkeypatch, email)
    user.refresh_from_db()
    assert user.check_password(LATER)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("", EOFError, None), (f"{LATER}\n", EOFError, None), (LATER, EOFError, None),
        ("\n\n", CommandError, "The password is empty"), (f"{LATER}\n\n", CommandError, "The password is empty"),
        ("short\n" * 6, CommandError, "after 3 attempts"), (f"{LATER}\nother\n" * 3, CommandError, "after 3 attempts"),
    ],
)  # fmt: skip
def test_an_input_that_has_no_password_changes_nothing(
    given: str,
    error: type[Exception],
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    user = UserFactory.create(email="ada@berth.example", password=FORMER)
    with pytest.raises(error, match=said):
        change(given, monkeypatch)
    user.refresh_from_db()
    assert user.check_password(FORMER)
    assert "echo" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("email", ["", "nobody@berth.example", "no address"])
def test_an_address_that_nobody_has_is_refused_before_anything_is_asked(
    email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="Nobody has this email address"):
        change("", monkeypatch, email)


def test_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    user, asked = UserFactory.create(email="ada@berth.example"), []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return LATER

    monkeypatch.setattr(changepassword, "getpass", typed)
    output: Any = StringIO()
    call_command("changepassword", user.email, stdout=output)
    user.refresh_from_db()
    assert user.check_password(LATER)
    assert asked == ["Password: ", "Password (again): "]
