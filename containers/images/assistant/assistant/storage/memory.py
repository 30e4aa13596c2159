"""The memory of each chat and of each topic of a group: the last messages in full, and older ones as a summary."""

import sqlite3
from typing import Literal, NamedTuple

from assistant.model.parts import Part

MOST_MESSAGES = 40  # sent with a question, even if there are more that are not summarised yet
MOST_CHARACTERS = 24_000  # of those messages: about 6,000 tokens, which fit into every model's context window
WHOLE_MESSAGES = 16  # kept in full when older ones are summarised
WHOLE_CHARACTERS = 10_000  # of the messages kept in full
FULL_MESSAGES = 30  # at this number, or at FULL_CHARACTERS, older ones are summarised
FULL_CHARACTERS = 18_000
LONGEST_MESSAGE = 12_000  # characters of one message that are sent with a question
LONGEST_SUMMARY = 4000
MOST_SUMMED = 12_000  # characters that are summarised at once
MOST_KEPT = 120  # rows of one place, in case summaries keep failing


class Place(NamedTuple):
    """A chat, or one topic of a group that has topics. Topic 0 is the chat itself."""

    chat: int
    topic: int = 0


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    content: str
    parts: tuple[Part, ...] = ()


class Older(NamedTuple):
    """The text to summarise: the summary so far, and the messages up to the row `last`."""

    summary: str
    messages: list[Message]
    last: int
    forgotten: int
    """How often the place had been forgotten. It shows whether the rows still exist, because SQLite reuses row numbers.
    """


class Memory:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._forgotten: dict[Place, int] = {}

    def recall(self, place: Place, characters: int = MOST_CHARACTERS) -> list[Message]:
        """Returns the last messages, oldest first. The first is always a question, as providers require."""
        recalled: list[Message] = []
        for _, message in self._newest(place)[:MOST_MESSAGES]:
            characters -= len(message.content)
            if characters < 0:
                break
            recalled.append(message)
        recalled.reverse()
        while recalled and recalled[0].role != "user":
            recalled.pop(0)
        return recalled

    def summary(self, place: Place) -> str:
        found = self._db.execute("SELECT content FROM summary WHERE chat_id = ? AND topic = ?", place).fetchone()
        return str(found[0]) if found else ""

    def remember(self, place: Place, question: str, answer: str, asked_by: int | None = None) -> None:
        """Stores both or neither, so that a question without an answer is never sent to the model.

        `asked_by` is the number of the message that contains the question.
        """
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO message (chat_id, topic, role, content, asked_by) VALUES (?, ?, ?, ?, ?)",
                [(*place, "user", question, asked_by), (*place, "assistant", answer, asked_by)],
            )
            self._db.execute(
                "DELETE FROM message WHERE chat_id = ?1 AND topic = ?2 AND id NOT IN"
                " (SELECT id FROM message WHERE chat_id = ?1 AND topic = ?2 ORDER BY id DESC LIMIT ?3)",
                (*place, MOST_KEPT),
            )

    def find_question(self, place: Place, asked_by: int) -> str | None:
        """Returns the question that this message asked, or None if it is forgotten or summarised."""
        found = self._db.execute(
            "SELECT content FROM message WHERE chat_id = ? AND topic = ? AND asked_by = ? AND role = 'user'",
            (*place, asked_by),
        ).fetchone()
        return str(found[0]) if found else None

    def forget_question(self, place: Place, asked_by: int) -> None:
        """Forgets the question of this message, and its answer."""
        facts = (*place, asked_by)
        self._db.execute("DELETE FROM message WHERE chat_id = ? AND topic = ? AND asked_by = ?", facts)

    def find_older(self, place: Place, characters: int = MOST_SUMMED) -> Older | None:
        """Returns up to `characters` of the oldest messages to summarise, or None if there are too few messages yet."""
        newest = self._newest(place)
        if len(newest) < FULL_MESSAGES and sum(len(each.content) for _, each in newest) < FULL_CHARACTERS:
            return None
        kept, left = 0, WHOLE_CHARACTERS
        while kept + 2 <= min(WHOLE_MESSAGES, len(newest)) and left > 0:
            left -= sum(len(each.content) for _, each in newest[kept : kept + 2])
            kept += 2
        older = newest[max(kept, 2) :]
        if not older:
            return None
        chosen = _fill(older[::-1], characters)
        messages = [message for _, message in chosen]
        return Older(self.summary(place), messages, chosen[-1][0], self._forgotten.get(place, 0))

    def replace_with_summary(self, place: Place, summary: str, older: Older) -> None:
        """Replaces the summarised messages with the summary, unless the place was forgotten in the meantime."""
        if self._forgotten.get(place, 0) != older.forgotten:
            return
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            older_rows = "DELETE FROM message WHERE chat_id = ? AND topic = ? AND id <= ?"
            self._db.execute(older_rows, (*place, older.last))
            kept = "INSERT OR REPLACE INTO summary VALUES (?, ?, ?)"
            self._db.execute(kept, (*place, summary[:LONGEST_SUMMARY]))

    def forget(self, place: Place) -> None:
        self._forgotten[place] = self._forgotten.get(place, 0) + 1
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM message WHERE chat_id = ? AND topic = ?", place)
            self._db.execute("DELETE FROM summary WHERE chat_id = ? AND topic = ?", place)

    def move(self, chat: int, new: int) -> None:
        """Moves the memory of a group that became a supergroup. Clears `asked_by`, because the supergroup numbers its
        messages itself.
        """
        self._forgotten[Place(chat)] = self._forgotten.get(Place(chat), 0) + 1
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE message SET chat_id = ?, asked_by = NULL WHERE chat_id = ?", (new, chat))
            self._db.execute("UPDATE OR IGNORE summary SET chat_id = ? WHERE chat_id = ?", (new, chat))

    def _newest(self, place: Place) -> list[tuple[int, Message]]:
        rows = self._db.execute(
            "SELECT id, role, content FROM message WHERE chat_id = ? AND topic = ? ORDER BY id DESC LIMIT ?",
            (*place, MOST_KEPT),
        )
        return [(row, Message(role, content[:LONGEST_MESSAGE])) for row, role, content in rows]


def _fill(rows: list[tuple[int, Message]], characters: int) -> list[tuple[int, Message]]:
    """Returns the first rows that fit into `characters`. If even the first is too long, returns its beginning."""
    (number, message), *others = rows
    chosen = [(number, message._replace(content=message.content[:characters]))]
    for row in others:
        characters -= len(chosen[-1][1].content)
        if len(row[1].content) > characters:
            break
        chosen.append(row)
    return chosen
