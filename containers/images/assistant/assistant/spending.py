"""What the answers of each chat have used, by UTC days."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

KEPT = timedelta(days=62)


class Spent(NamedTuple):
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Spending:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def note(self, chat: int, *, tokens_in: int, tokens_out: int) -> None:
        today = datetime.now(UTC).date()
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM spent WHERE day < ?", ((today - KEPT).isoformat(),))
            self._db.execute(
                "INSERT INTO spent VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET answers = answers + 1,"
                " tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out",
                (chat, today.isoformat(), tokens_in, tokens_out),
            )

    def today(self, chat: int) -> Spent:
        return self._since(chat, datetime.now(UTC).date().isoformat())

    def this_month(self, chat: int) -> Spent:
        return self._since(chat, datetime.now(UTC).date().replace(day=1).isoformat())

    def _since(self, chat: int, day: str) -> Spent:
        sums = "SELECT sum(answers), sum(tokens_in), sum(tokens_out) FROM spent WHERE chat_id = ? AND day >= ?"
        return Spent(*(total or 0 for total in self._db.execute(sums, (chat, day)).fetchone()))
