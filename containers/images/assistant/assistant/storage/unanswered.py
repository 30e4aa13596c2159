"""Messages whose chats could not even be told that the agent was stopped, for example because its gateway stopped too.

Telegram does not send a fetched message again, so the agent answers these after its next start.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable

from telegram import Bot, Message, Update

logger = logging.getLogger(__name__)


class Unanswered:
    """Raises nothing, because the agent must start and stop even if this fails."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def keep(self, messages: Iterable[Message]) -> None:
        rows = list(filter(None, map(_write, messages)))
        try:
            self._db.executemany("INSERT INTO unanswered (message) VALUES (?)", rows)
        except sqlite3.Error:
            logger.exception("unanswered messages could not be stored")

    def resume(self, bot: Bot, take: Callable[[Update], None]) -> None:
        """Handles the stored messages, oldest first, and deletes them."""
        try:
            rows = self._db.execute("DELETE FROM unanswered RETURNING id, message").fetchall()
        except sqlite3.Error:
            logger.exception("unanswered messages could not be loaded")
            return
        for number, message in sorted(rows):
            try:
                update = Update(number, message=Message.de_json(json.loads(message), bot))
            except Exception as error:  # noqa: BLE001 - after any error the next message may still be readable
                logger.warning("a stored message could not be read: %s", type(error).__name__)
            else:
                take(update)


def _write(message: Message) -> tuple[str] | None:
    """Returns a row, or None for a message that cannot be serialised."""
    try:
        return (json.dumps(message.to_dict()),)
    except Exception as error:  # noqa: BLE001 - after any error the other messages may still be stored
        logger.warning("a message could not be stored: %s", type(error).__name__)
        return None
