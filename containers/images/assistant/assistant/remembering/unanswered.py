"""Messages to which nothing could be said when the agent was stopped, as where its gateway ends with it.

Telegram does not send again what the agent has fetched. It answers them when it is started again.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable

from telegram import Bot, Message, Update

logger = logging.getLogger(__name__)


class Unanswered:
    """Raises nothing: the agent begins and ends without it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def keep(self, messages: Iterable[Message]) -> None:
        rows = list(filter(None, map(_write, messages)))
        try:
            self._db.executemany("INSERT INTO unanswered (message) VALUES (?)", rows)
        except sqlite3.Error:
            logger.exception("what is not answered could not be kept")

    def take_up(self, bot: Bot, take: Callable[[Update], None]) -> None:
        """Begins with what was kept, the oldest first. It is kept no longer."""
        try:
            rows = self._db.execute("DELETE FROM unanswered RETURNING id, message").fetchall()
        except sqlite3.Error:
            logger.exception("what was not answered could not be looked at")
            return
        for number, message in sorted(rows):
            try:
                update = Update(number, message=Message.de_json(json.loads(message), bot))
            except Exception as error:  # noqa: BLE001 - whatever it is, the next one can be read
                logger.warning("a message that was kept could not be read: %s", type(error).__name__)
            else:
                take(update)


def _write(message: Message) -> tuple[str] | None:
    """A row; None for a message that cannot be written."""
    try:
        return (json.dumps(message.to_dict()),)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others can be
        logger.warning("a message could not be kept: %s", type(error).__name__)
        return None
