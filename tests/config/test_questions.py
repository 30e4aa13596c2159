"""Every question that a command or a script asks: any answer but the wanted one does nothing, and a sentence says so.

A new question without a line here fails the first test.
"""

import io
import re
import sys
from collections.abc import Callable
from getpass import GetPassWarning
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.management.commands import changepassword
from accounts.models import User
from config.management.commands import uninstall
from containers.docker.removal import Belongings
from projects.management.commands import adopt, migrate_engine, quarantine
from projects.management.confirmation import ANOTHER_ANSWER, NO_ANSWER
from projects.models import Quarantined
from projects.services.inventory.installation import Conflicts
from tests.factories import UserFactory
from tests.paths import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

ASKS = re.compile(r"\b(require_confirmation|(?<!def )input|getpass)\(|\bread -r answer\b")
KEY, EMAIL = "00000000-0000-0000-0000-00000000000a", "alice@example.com"

WRONG = {
    "the end": b"", "an empty line": b"\n", "a space": b" \n", "another word": b"no\n", "capitals": b"YES\n",
    "a beginning": b"y\n", "a number": b"2\n", "too long": b"yes" * 5000 + b"\n", "no text": b"\xff\xfe\n",
    "a null": b"\0\n", "an escape": b"\x1b[A\n",
}  # fmt: skip

Patch = pytest.MonkeyPatch


def _adopt(patch: Patch) -> Mock:
    patch.setattr(adopt, "look_for_conflicts", lambda: Conflicts(unknown=(KEY,)))
    patch.setattr(adopt, "adopt", done := Mock(return_value=[]))
    return done


def _quarantine(patch: Patch) -> Mock:
    Quarantined.objects.create(key=KEY, instance="berth")
    patch.setattr(quarantine, "delete_from_quarantine", done := Mock())
    return done


def _migrate_engine(patch: Patch) -> Mock:
    patch.setattr("django.conf.settings.BERTH_ENGINE", "swarm")
    patch.setattr(migrate_engine, "Migration", Mock())
    patch.setattr(migrate_engine.Command, "_check", Mock())
    patch.setattr(migrate_engine.Command, "_move_all", done := Mock())
    return done


def _uninstall(patch: Patch) -> Mock:
    patch.setattr(uninstall.Command, "_require_rest", Mock())
    patch.setattr("containers.docker.removal.find_belongings", lambda _: Belongings({"x": "1"}, {}, {}, {}, []))
    patch.setattr(uninstall.Command, "_remove_from_engine", done := Mock())
    return done


ASKED: dict[str, tuple[list[str], Callable[[Patch], Mock], str]] = {
    "projects/management/commands/adopt.py": (["adopt"], _adopt, "adopt"),
    "projects/management/commands/quarantine.py": (["quarantine", "delete", KEY], _quarantine, "1"),
    "projects/management/commands/migrate_engine.py": (
        ["migrate_engine", "--from", "unix:///nowhere"], _migrate_engine, "move",
    ),
    "config/management/commands/uninstall.py": (["uninstall"], _uninstall, "yes"),
}  # fmt: skip
"""By file: the command, what makes it ask (and is called if it goes on), and the wanted answer."""
OTHERS = {
    "accounts/management/commands/changepassword.py": "below",
    "projects/management/confirmation.py": "asks for the others",
    "config/bin/uninstall": "tests/config/test_uninstall_script.py",
}


def test_every_question_is_tried() -> None:
    folders = [*ROOT.glob("*/management"), ROOT / "config/bin"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    asking = {str(path.relative_to(ROOT)) for path in files if ASKS.search(path.read_text())}
    assert asking == {*ASKED, *OTHERS}


def type_in(patch: Patch, typed: bytes) -> None:
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8"))


@pytest.mark.parametrize("typed", WRONG)
@pytest.mark.parametrize("file", ASKED)
def test_any_other_answer_does_nothing_and_is_told(file: str, typed: str, monkeypatch: Patch) -> None:
    """`make uninstall` without an answer had the exit code of a success."""
    words, prepare, wanted = ASKED[file]
    done = prepare(monkeypatch)
    type_in(monkeypatch, WRONG[typed])
    with pytest.raises(CommandError) as refused:
        call_command(*words, stdout=io.StringIO())
    assert str(refused.value) == (NO_ANSWER if typed == "the end" else ANOTHER_ANSWER.format(wanted))
    assert refused.value.returncode == 1
    done.assert_not_called()


@pytest.mark.parametrize("ending", ["\n", "", "\r\n"])
@pytest.mark.parametrize("file", ASKED)
def test_the_wanted_answer_goes_on(file: str, ending: str, monkeypatch: Patch) -> None:
    words, prepare, wanted = ASKED[file]
    done = prepare(monkeypatch)
    type_in(monkeypatch, f" {wanted} {ending}".encode())
    call_command(*words, stdout=io.StringIO())
    done.assert_called_once()


@pytest.mark.parametrize("file", ASKED)
def test_ctrl_c_at_the_question_does_nothing(file: str, monkeypatch: Patch) -> None:
    words, prepare, _ = ASKED[file]
    done = prepare(monkeypatch)
    monkeypatch.setattr("builtins.input", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        call_command(*words, stdout=io.StringIO())
    done.assert_not_called()


LONG = b"a-long-passphrase-of-tests\n"
PASSWORDS = {
    "the end": b"", "the end at the second": LONG, "an empty line": b"\n", "empty the second time": LONG + b"\n",
    "no text": b"\xff-long-passphrase\n" * 2, "no text the second time": LONG + b"\xff\n",
    "different": LONG + b"another-passphrase\n" + LONG + b"x\n" + LONG + b"y\n", "short": b"short\n" * 6,
}  # fmt: skip


@pytest.mark.parametrize("typed", PASSWORDS)
def test_a_password_that_cannot_be_used_changes_nothing(typed: str, monkeypatch: Patch) -> None:
    user = UserFactory.create(email=EMAIL)
    monkeypatch.setattr(changepassword, "getpass", Mock(side_effect=GetPassWarning))
    type_in(monkeypatch, PASSWORDS[typed])
    with pytest.raises((CommandError, EOFError)):  # `manage.py` has a sentence for the latter
        call_command("changepassword", EMAIL, stdout=io.StringIO(), stderr=io.StringIO())
    assert User.objects.get().password == user.password
