"""Remembers the last messages of each chat, and of each topic of a group for itself."""

import sqlite3
from typing import Literal, NamedTuple

MOST_MESSAGES = 40  # per place
MOST_CHARACTERS = 24_000  # per place: some 6,000 tokens, which are sent along with every question


class Place(NamedTuple):
    """Where people talk: a chat, and in a group with topics one of these. Topic 0 is the chat itself."""

    chat: int
    topic: int = 0


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    content: str


class Memory:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def recall(self, place: Place) -> list[Message]:
        """The last messages, oldest first. The first one is a question, as the providers demand."""
        rows = self._db.execute(
            "SELECT role, content FROM message WHERE chat_id = ? AND topic = ? ORDER BY id DESC LIMIT ?",
            (*place, MOST_MESSAGES),
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

    def remember(self, place: Place, question: str, answer: str) -> None:
        """Stores both or neither, so that a question without an answer is never sent along."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO message (chat_id, topic, role, content) VALUES (?, ?, ?, ?)",
                [(*place, "user", question), (*place, "assistant", answer)],
            )
            self._db.execute(
                "DELETE FROM message WHERE chat_id = ?1 AND topic = ?2 AND id NOT IN"
                " (SELECT id FROM message WHERE chat_id = ?1 AND topic = ?2 ORDER BY id DESC LIMIT ?3)",
                (*place, MOST_MESSAGES),
            )

    def forget(self, place: Place) -> None:
        self._db.execute("DELETE FROM message WHERE chat_id = ? AND topic = ?", place)
