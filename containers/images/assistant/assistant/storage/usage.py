"""Counts the answers and tokens of each chat, per UTC day."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

KEPT = timedelta(days=62)


class UsageTotals(NamedTuple):
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    memory: int = 0  # tokens used for summaries, in and out


class UsageLog:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def note(self, chat: int, *, tokens_in: int, tokens_out: int, answers: int = 1) -> None:
        self._add(
            "INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET answers = answers + excluded.answers,"
            " tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out",
            chat,
            answers,
            tokens_in,
            tokens_out,
        )

    def note_memory(self, chat: int, tokens: int) -> None:
        """Adds the tokens of a summary."""
        self._add(
            "INSERT INTO spent_on_memory VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens",
            chat,
            tokens,
        )

    def today(self, chat: int) -> UsageTotals:
        return self._since(chat, datetime.now(UTC).date().isoformat())

    def this_month(self, chat: int) -> UsageTotals:
        return self._since(chat, datetime.now(UTC).date().replace(day=1).isoformat())

    def _add(self, statement: str, chat: int, *tokens: int) -> None:
        today = datetime.now(UTC).date()
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for clean in ("DELETE FROM spent WHERE day < ?", "DELETE FROM spent_on_memory WHERE day < ?"):
                self._db.execute(clean, ((today - KEPT).isoformat(),))
            self._db.execute(statement, (chat, today.isoformat(), *tokens))

    def _since(self, chat: int, day: str) -> UsageTotals:
        sums = "SELECT sum(answers), sum(tokens_in), sum(tokens_out) FROM spent WHERE chat_id = ? AND day >= ?"
        memory = "SELECT sum(tokens) FROM spent_on_memory WHERE chat_id = ? AND day >= ?"
        found = [*self._db.execute(sums, (chat, day)).fetchone(), *self._db.execute(memory, (chat, day)).fetchone()]
        return UsageTotals(*(total or 0 for total in found))
