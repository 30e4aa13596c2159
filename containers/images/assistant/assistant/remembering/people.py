"""With whom the agent is paired, which codes were used, and whom it has turned away today."""

import sqlite3
import time
from enum import Enum, auto

from agent_contract import PairingCode, PairingKind

DAY = 86_400
MOST_TURNED_AWAY = 10_000  # strangers a day who get a sentence; more of them get none


class Pairing(Enum):
    """What became of a code."""

    FIRST = auto()
    DONE = auto()
    ALREADY = auto()  # and the code counts on, for somebody else
    DEAD = auto()


class People:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM paired").fetchone()[0])

    def knows(self, user_id: int) -> bool:
        return self._db.execute("SELECT 1 FROM paired WHERE user_id = ?", (user_id,)).fetchone() is not None

    def note_secret(self) -> None:
        """For the day on which the agent starts without its secret: it must not answer everybody then."""
        self._db.execute("INSERT OR IGNORE INTO had_secret VALUES (1)")

    def were_let_in(self) -> bool:
        """Whether the agent has ever had a secret, or has paired anybody."""
        return self.count() > 0 or self._db.execute("SELECT 1 FROM had_secret").fetchone() is not None

    def pair(self, code: PairingCode, user_id: int) -> Pairing:
        """Pairs the user if the code still counts: all of it in one transaction, so that no code counts twice."""
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
        """For a code that more people than one have seen."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._use(code)

    def may_turn_away(self, what: str) -> bool:
        """Whether this was not said within a day. It is noted as said. After so many no more is said to anybody."""
        now = int(time.time())
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            # A moment in the future is of a clock that has stepped back since.
            self._db.execute("DELETE FROM turned_away WHERE abs(? - at) >= ?", (now, DAY))
            if self._db.execute("SELECT count(*) FROM turned_away").fetchone()[0] >= MOST_TURNED_AWAY:
                return False
            return self._db.execute("INSERT OR IGNORE INTO turned_away VALUES (?, ?)", (what, now)).rowcount > 0

    def _counts(self, code: PairingCode) -> bool:
        void = self._db.execute("SELECT max(number) FROM void_below").fetchone()[0]
        used = self._db.execute("SELECT 1 FROM used_code WHERE code = ?", (_name(code),)).fetchone()
        if used or code.expires <= time.time() or (void is not None and code.number <= void):
            return False
        return code.kind is not PairingKind.OWNER or self.count() == 0

    def _use(self, code: PairingCode) -> None:
        """For good."""
        self._db.execute("INSERT OR IGNORE INTO used_code VALUES (?)", (_name(code),))

    def _void_below(self, number: int) -> None:
        self._db.execute("DELETE FROM void_below")
        self._db.execute("INSERT INTO void_below VALUES (?)", (number,))


def _name(code: PairingCode) -> str:
    """The owner's code keeps its number from day to day. Each counts by itself, and only while nobody is paired."""
    name = f"{code.kind}{code.number}"
    return f"{name}-{code.expires}" if code.kind is PairingKind.OWNER else name
