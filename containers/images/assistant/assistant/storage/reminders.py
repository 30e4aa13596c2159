"""Stores the reminders."""

import sqlite3
import time
from collections.abc import Callable
from typing import NamedTuple

from assistant.storage.memory import Place

MOST_OF_A_CHAT = 50
MOST = 2000
LONGEST = 1000  # characters
FORGOTTEN_AFTER = 30 * 86_400  # seconds after which a reminder that cannot be delivered is dropped


class Reminder(NamedTuple):
    number: int
    place: Place
    due: int  # Unix time
    text: str
    language: str | None
    repeat: str | None = None  # in the format of `recurrence.format_repeat`; None if it does not repeat


class Reminders:
    def __init__(self, db: sqlite3.Connection, now: Callable[[], float] = time.time) -> None:
        self._db = db
        self.now = now
        self.changed: Callable[[], None] = lambda: None

    def add(self, place: Place, due: int, text: str, language: str | None, repeat: str | None = None) -> int | None:
        """Adds a reminder and returns its number, or None if there are too many."""
        of_chat = self._count("WHERE chat_id = ?", place.chat)
        if of_chat >= MOST_OF_A_CHAT or self._count("") >= MOST:
            return None
        values = (*place, due, text[:LONGEST], language, repeat)
        added = self._db.execute(
            "INSERT INTO reminder (chat_id, topic, due, text, language, repeat) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        self.changed()
        return added.lastrowid

    def list_for(self, place: Place) -> list[Reminder]:
        return self._find("WHERE chat_id = ? AND topic = ? ORDER BY due", *place)

    def due(self) -> list[Reminder]:
        now = int(self.now())
        self._db.execute("DELETE FROM reminder WHERE due < ? AND repeat IS NULL", (now - FORGOTTEN_AFTER,))
        return self._find("WHERE due <= ? ORDER BY due", now)

    def next_due(self) -> int | None:
        """Returns when the next reminder is due (Unix time), or None if there is none."""
        found = self._db.execute("SELECT min(due) FROM reminder").fetchone()[0]
        return None if found is None else int(found)

    def remove(self, number: int, place: Place) -> bool:
        """Deletes a reminder of this place. Returns False if there is no such reminder."""
        gone = self._db.execute("DELETE FROM reminder WHERE id = ? AND chat_id = ? AND topic = ?", (number, *place))
        return gone.rowcount > 0

    def delete(self, number: int) -> None:
        """Deletes a reminder, no matter which chat it has moved to."""
        self._db.execute("DELETE FROM reminder WHERE id = ?", (number,))

    def move(self, chat: int, new: int) -> None:
        """Moves the reminders of a group that became a supergroup, so that people there can see and cancel them."""
        self._db.execute("UPDATE reminder SET chat_id = ?, topic = 0 WHERE chat_id = ?", (new, chat))

    def reschedule(self, number: int, due: int) -> None:
        """Sets the next time of a repeating reminder."""
        self._db.execute("UPDATE reminder SET due = ? WHERE id = ?", (due, number))

    def _count(self, where: str, *values: object) -> int:
        counted = f"SELECT count(*) FROM reminder {where}"  # noqa: S608  # nosec B608 - the module's own words
        return int(self._db.execute(counted, values).fetchone()[0])

    def _find(self, where: str, *values: object) -> list[Reminder]:
        columns = "id, chat_id, topic, due, text, language, repeat"
        found = f"SELECT {columns} FROM reminder {where}"  # noqa: S608  # nosec B608 - the module's own words
        rows = self._db.execute(found, values)
        return [Reminder(number, Place(chat, topic), *rest) for number, chat, topic, *rest in rows]
