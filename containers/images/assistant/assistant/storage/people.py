"""The people the agent is paired with, the pairing codes already used, and the people refused today."""

import sqlite3
import time
from enum import Enum, auto

from agent_contract import PairingCode, PairingKind

DAY = 86_400
MOST_REFUSALS = 10_000  # sentences to strangers per day; further strangers get none


class Pairing(Enum):
    """The result of redeeming a pairing code."""

    FIRST = auto()
    DONE = auto()
    ALREADY = auto()  # the user was paired before; the code stays valid for another person
    DEAD = auto()


class People:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM paired").fetchone()[0])

    def knows(self, user_id: int) -> bool:
        return self._db.execute("SELECT 1 FROM paired WHERE user_id = ?", (user_id,)).fetchone() is not None

    def note_secret(self) -> None:
        """Records that the agent has a pairing secret. If it ever starts without it, it must not answer everybody."""
        self._db.execute("INSERT OR IGNORE INTO had_secret VALUES (1)")

    def has_ever_paired(self) -> bool:
        """Returns whether the agent has ever had a secret or is paired with anyone."""
        return self.count() > 0 or self._db.execute("SELECT 1 FROM had_secret").fetchone() is not None

    def pair(self, code: PairingCode, user_id: int) -> Pairing:
        """Pairs the user if the code is still valid. Uses one transaction, so that no code works twice."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if self.knows(user_id) and code.kind is not PairingKind.REPLACE:
                return Pairing.ALREADY
            if not self._counts(code):
                return Pairing.ALREADY if self.knows(user_id) else Pairing.DEAD
            self._use(code)
            if code.kind is PairingKind.REPLACE:
                self._db.execute("DELETE FROM paired")
                self._void_below(code.number)
            first = self.count() == 0
            self._db.execute("INSERT OR IGNORE INTO paired VALUES (?, ?)", (user_id, int(time.time())))
            return Pairing.FIRST if first else Pairing.DONE

    def void(self, code: PairingCode) -> None:
        """Makes a code invalid because more than one person has seen it."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._use(code)

    def note_refusal(self, what: str) -> bool:
        """Notes a refusal and returns True, unless the same one was noted within a day or MOST_REFUSALS in total."""
        now = int(time.time())
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            # A time in the future was written before the clock was set back.
            self._db.execute("DELETE FROM turned_away WHERE abs(? - at) >= ?", (now, DAY))
            if self._db.execute("SELECT count(*) FROM turned_away").fetchone()[0] >= MOST_REFUSALS:
                return False
            return self._db.execute("INSERT OR IGNORE INTO turned_away VALUES (?, ?)", (what, now)).rowcount > 0

    def _counts(self, code: PairingCode) -> bool:
        void = self._db.execute("SELECT max(number) FROM void_below").fetchone()[0]
        used = self._db.execute("SELECT 1 FROM used_code WHERE code = ?", (_name(code),)).fetchone()
        if used or code.expires <= time.time() or (void is not None and code.number <= void):
            return False
        return code.kind is not PairingKind.OWNER or self.count() == 0

    def _use(self, code: PairingCode) -> None:
        self._db.execute("INSERT OR IGNORE INTO used_code VALUES (?)", (_name(code),))

    def _void_below(self, number: int) -> None:
        self._db.execute("DELETE FROM void_below")
        self._db.execute("INSERT INTO void_below VALUES (?)", (number,))


def _name(code: PairingCode) -> str:
    """Returns a code's key. The owner's code has the same number every day, so its expiry time is part of the key."""
    name = f"{code.kind}{code.number}"
    return f"{name}-{code.expires}" if code.kind is PairingKind.OWNER else name
