"""Who is answered, and what a pairing code does: the agent's rules against someone who wants to take over the bot."""

import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from telegram import User

from containers.agent_contract import PairingCode, PairingKind

pytestmark = pytest.mark.one_database
SECRET = "the secret of this project"
LATER = int(time.time()) + 3600
OWNER, ADA, MALLORY = (User(number, name, is_bot=False) for number, name in ((7, "Olga"), (8, "Ada"), (66, "Mal")))


class Told:
    paired: int | None = None

    def note_paired(self, count: int) -> None:
        self.paired = count


class Door:
    """The agent's access rules, which a test can close and open again like a restart."""

    db: sqlite3.Connection

    def __init__(self, directory: Path, allowed: frozenset[str] = frozenset(), secret: str = SECRET) -> None:
        self.directory, self.told = directory, Told()
        self.config: Any = SimpleNamespace(allowed_users=allowed, pairing_secret=secret)
        self.open()

    def open(self) -> None:
        from assistant.chatting import access
        from assistant.storage import people, store

        if hasattr(self, "db"):
            self.db.close()
        self.db = store.open_store(self.directory)
        told: Any = self.told
        self.access = access.Access(self.config, people.People(self.db), told)

    def tap(self, user: User, code: PairingCode, *, private: bool = True, secret: str = SECRET) -> str | None:
        read = self.access.read_code(code.sign(secret))
        if read is None:
            return "not read"
        said = self.access.redeem_code(read, user, is_private=private)
        return said and said.name

    def refuses(self, user: User, code: PairingCode) -> bool:
        """The agent answers the same dead code only once a day."""
        before = self.access.admits(user), self.told.paired
        return self.tap(user, code) in {"DEAD_CODE", None} and before == (self.access.admits(user), self.told.paired)


@pytest.fixture
def door(tmp_path: Path) -> Any:
    yield (door := Door(tmp_path))
    door.db.close()


def code_of(kind: PairingKind, number: int = 0, expires: int = LATER) -> PairingCode:
    return PairingCode(kind, number, expires)


def test_nobody_is_answered_before_the_first_tap_and_only_the_owner_after_it(door: Door) -> None:
    assert door.told.paired == 0
    assert not any(door.access.admits(user) for user in (OWNER, ADA, MALLORY))
    assert door.tap(OWNER, code_of(PairingKind.OWNER)) == "PAIRED_FIRST"
    assert [door.access.admits(user) for user in (OWNER, ADA, MALLORY)] == [True, False, False]
    assert door.told.paired == 1


def test_a_code_counts_once_also_after_a_restart(door: Door) -> None:
    first = code_of(PairingKind.OWNER)
    door.tap(OWNER, first)
    door.open()
    assert door.told.paired == 1
    assert door.access.admits(OWNER)
    assert door.refuses(MALLORY, first)
    assert door.refuses(MALLORY, code_of(PairingKind.OWNER, expires=LATER + 86_400))  # of the next day
    assert door.refuses(MALLORY, code_of(PairingKind.OWNER, 1))  # somebody is paired
    assert not door.access.admits(MALLORY)


def test_each_additional_person_has_a_separate_code(door: Door) -> None:
    door.tap(OWNER, code_of(PairingKind.OWNER))
    added = code_of(PairingKind.ADD, 1)
    assert door.tap(OWNER, added) == "ALREADY_PAIRED"  # opening the link out of curiosity does not use it up
    assert door.tap(ADA, added) == "PAIRED"
    assert door.refuses(MALLORY, added)
    assert door.tap(ADA, added) == "ALREADY_PAIRED"  # the same update, sent again by Telegram
    assert door.told.paired == 2


def test_a_code_that_replaces_everyone_removes_an_intruder(door: Door) -> None:
    door.tap(MALLORY, code_of(PairingKind.OWNER))
    assert door.refuses(OWNER, code_of(PairingKind.OWNER))
    leaked = code_of(PairingKind.ADD, 1)
    assert door.tap(OWNER, code_of(PairingKind.REPLACE, 2)) == "PAIRED_FIRST"
    assert [door.access.admits(user) for user in (OWNER, MALLORY)] == [True, False]
    for old in (leaked, code_of(PairingKind.REPLACE, 2), code_of(PairingKind.REPLACE, 1), code_of(PairingKind.ADD, 2)):
        assert door.refuses(MALLORY, old)
    assert door.tap(ADA, code_of(PairingKind.ADD, 3)) == "PAIRED"
    assert door.tap(ADA, code_of(PairingKind.REPLACE, 4)) == "PAIRED_FIRST"
    assert not door.access.admits(OWNER)


def test_old_codes_foreign_codes_and_codes_sent_by_bots_are_ignored(door: Door) -> None:
    assert door.refuses(MALLORY, code_of(PairingKind.OWNER, expires=int(time.time())))
    assert door.tap(MALLORY, code_of(PairingKind.OWNER), secret="that of another project") == "not read"
    assert door.tap(User(99, "Robot", is_bot=True), code_of(PairingKind.OWNER)) is None
    assert door.told.paired == 0
    assert door.tap(OWNER, code_of(PairingKind.OWNER)) == "PAIRED_FIRST"


def test_a_code_that_a_group_has_seen_is_void(door: Door) -> None:
    for kind in PairingKind:
        shown = code_of(kind, 5)
        assert door.tap(OWNER, shown, private=False) == "CODE_IN_GROUP"
        assert door.refuses(MALLORY, shown)
    assert door.told.paired == 0


def test_a_used_code_is_explained_once_a_day_and_a_stranger_is_refused_once(door: Door) -> None:
    door.tap(OWNER, code_of(PairingKind.OWNER))
    said = [door.tap(MALLORY, code_of(PairingKind.OWNER)) for _ in range(3)]
    assert said == ["DEAD_CODE", None, None]
    turned = [door.access.refuse(MALLORY) for _ in range(3)]
    assert [text and text.name for text in turned] == ["STRANGER_UNPAIRED", None, None]
    door.open()
    assert door.access.refuse(MALLORY) is None
    assert door.access.refuse(ADA) is not None
    door.db.execute("UPDATE turned_away SET at = at - 86400")
    assert door.access.refuse(MALLORY) is not None
    door.db.execute("UPDATE turned_away SET at = at + 1000000")  # the clock has stepped back
    assert door.access.refuse(MALLORY) is not None


def test_answers_to_a_flood_of_strangers_are_limited(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.storage.people.MOST_REFUSALS", 5)
    said = [door.access.refuse(User(number, "X", is_bot=False)) for number in range(1, 20)]
    assert [text is not None for text in said] == [True] * 5 + [False] * 14
    assert door.db.execute("SELECT count(*) FROM turned_away").fetchone() == (5,)


def test_a_pairing_that_cannot_be_stored_pairs_nobody(door: Door) -> None:
    door.db.execute("PRAGMA query_only = 1")
    with pytest.raises(sqlite3.OperationalError):
        door.tap(MALLORY, code_of(PairingKind.OWNER))
    door.db.execute("PRAGMA query_only = 0")
    assert door.tap(OWNER, code_of(PairingKind.OWNER)) == "PAIRED_FIRST"
    assert not door.access.admits(MALLORY)


@pytest.mark.parametrize(
    ("allowed", "secret", "admitted"),
    [
        (frozenset(), "", "olga"),  # an agent that has lost its secret
        (frozenset(), SECRET, "olga"),
        (frozenset({"ada"}), "", "ada"),
        (frozenset({"ada"}), SECRET, "olga ada"),
        (frozenset({"8"}), SECRET, "olga ada"),
        (frozenset({"*"}), SECRET, "olga ada mal"),
        (frozenset({"*"}), "", "olga ada mal"),
        (frozenset({""}), SECRET, "olga"),
    ],
)
def test_an_allow_list_a_pairing_secret_and_a_star_decide_who_is_answered(
    tmp_path: Path, allowed: frozenset[str], secret: str, admitted: str
) -> None:
    door = Door(tmp_path, allowed, secret)
    door.db.execute("INSERT INTO paired VALUES (7, 0)")
    door.open()
    people = [User(7, "Olga", is_bot=False), User(8, "Ada", is_bot=False, username="Ada"), MALLORY]
    assert [user.first_name.lower() for user in people if door.access.admits(user)] == admitted.split()
    assert door.told.paired == (1 if secret else None)
    door.db.close()
