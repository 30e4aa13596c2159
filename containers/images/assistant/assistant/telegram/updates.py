"""Fetches what Telegram has for the bot, and reads each update by itself.

The library reads all that was fetched or nothing: one update that is newer than the library, or that somebody has made
odd on purpose, would be fetched again for ever, and nobody would be answered any more.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from telegram import Bot, Update
from telegram.error import TelegramError

UPDATES = ["message", "edited_message", "stopped_message_generation"]
PLAIN = "message_id from date edit_date chat text entities message_thread_id is_topic_message".split()  # noqa: SIM905 - shorter
"""What is tried of a message that cannot be read."""

ANSWERED_WITHIN = 10.0  # seconds, beside those for which Telegram may hold a poll

logger = logging.getLogger(__name__)


class Fetched(NamedTuple):
    number: int
    update: Update | None
    """None for one that nobody can read."""


class PollingBot(Bot):
    async def fetch(self, offset: int | None, hold: int) -> list[Fetched]:
        """Raises TelegramError."""
        wanted = {"offset": offset, "timeout": hold, "allowed_updates": UPDATES}
        with readable_answer():
            found: Any = await self._post("getUpdates", wanted, read_timeout=ANSWERED_WITHIN + hold)
            return [Fetched(int(each["update_id"]), self._read(each)) for each in found]

    async def confirm(self, offset: int) -> None:
        """Raises TelegramError. What comes with the answer is for the next start."""
        with readable_answer():
            await self._post("getUpdates", {"offset": offset, "limit": 1}, read_timeout=1, connect_timeout=1)

    def _read(self, found: Any) -> Update | None:
        """Of one that cannot be read the words alone, if there are any: what it replies to may be what is odd."""
        for each in (found, _simplify(found)):
            try:
                return Update.de_json(each, self)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next update can be read
                logger.warning("an update could not be read: %s", type(error).__name__)
        return None


def _simplify(update: Any) -> dict[str, Any]:
    return {
        name: {field: about[field] for field in PLAIN if field in about} if isinstance(about, dict) else about
        for name, about in update.items()
    }


@contextmanager
def readable_answer() -> Iterator[None]:
    """Turns the library's errors over unexpected JSON, such as that of a proxy in between, into a TelegramError."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise TelegramError("unreadable answer") from None
