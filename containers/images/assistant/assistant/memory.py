"""Remembers the last messages of each chat, in SQLite."""

import sqlite3
from pathlib import Path
from typing import Literal, NamedTuple

MOST_MESSAGES = 40  # per chat
MOST_CHARACTERS = 24_000  # per chat: some 6,000 tokens, which are sent along with every question

SCHEMA = """
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY,
    chat_id INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS message_chat ON message (chat_id, id);
"""


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    content: str


class Memory:
    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / "history.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)

    def recall(self, chat_id: int) -> list[Message]:
        """The last messages, oldest first. The first one is a question, as the providers demand."""
        rows = self._db.execute(
            "SELECT role, content FROM message WHERE chat_id = ? ORDER BY id DESC LIMIT ?", (chat_id, MOST_MESSAGES)
        )
        recalled: list[Message] = []
        room = MOST_CHARACTERS
        for role, content in rows:
            room -= len(content)
            if room < 0:
                break
            recalled.append(Message(role, content))
        recalled.reverse()
        while recalled and recalled[0].role != "user":
            recalled.pop(0)
        return recalled

    def remember(self, chat_id: int, question: str, answer: str) -> None:
        """Stores both or neither, so that a question without an answer is never sent along."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO message (chat_id, role, content) VALUES (?, ?, ?)",
                [(chat_id, "user", question), (chat_id, "assistant", answer)],
            )
            self._db.execute(
                "DELETE FROM message WHERE chat_id = ?1 AND id NOT IN"
                " (SELECT id FROM message WHERE chat_id = ?1 ORDER BY id DESC LIMIT ?2)",
                (chat_id, MOST_MESSAGES),
            )

    def forget(self, chat_id: int) -> None:
        self._db.execute("DELETE FROM message WHERE chat_id = ?", (chat_id,))

    def close(self) -> None:
        self._db.close()
