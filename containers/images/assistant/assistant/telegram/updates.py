"""Fetches updates from Telegram and parses each of them separately.

The library parses either all fetched updates or none. A single update that it cannot parse, because it is newer than
the library or malformed on purpose, would be fetched again forever, and nobody would be answered any more.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from telegram import Bot, Update
from telegram.error import TelegramError

UPDATES = ["message", "edited_message", "stopped_message_generation"]
PLAIN = "message_id from date edit_date chat text entities message_thread_id is_topic_message".split()  # noqa: SIM905 - shorter
"""The only fields that are kept of a message that cannot be parsed."""

ANSWERED_WITHIN = 10.0  # seconds, in addition to those for which Telegram may hold a poll

logger = logging.getLogger(__name__)


class Fetched(NamedTuple):
    number: int
    update: Update | None
    """None if it cannot be parsed."""


class PollingBot(Bot):
    async def fetch(self, offset: int | None, hold: int) -> list[Fetched]:
        """Fetches updates. Telegram waits up to `hold` seconds for the first one. Raises TelegramError."""
        wanted = {"offset": offset, "timeout": hold, "allowed_updates": UPDATES}
        with readable_answer():
            found: Any = await self._post("getUpdates", wanted, read_timeout=ANSWERED_WITHIN + hold)
            return [Fetched(int(each["update_id"]), self._read(each)) for each in found]

    async def confirm(self, offset: int) -> None:
        """Confirms the updates below `offset`. Ignores the updates in the response, because Telegram sends them again
        at the next start. Raises TelegramError.
        """
        with readable_answer():
            await self._post("getUpdates", {"offset": offset, "limit": 1}, read_timeout=1, connect_timeout=1)

    def _read(self, found: Any) -> Update | None:
        """Parses an update. If that fails, parses only its PLAIN fields, because the error may be in a message that it
        replies to.
        """
        for each in (found, _simplify(found)):
            try:
                return Update.de_json(each, self)
            except Exception as error:  # noqa: BLE001 - after any error the next update may still be readable
                logger.warning("an update could not be read: %s", type(error).__name__)
        return None


def _simplify(update: Any) -> dict[str, Any]:
    return {
        name: {field: about[field] for field in PLAIN if field in about} if isinstance(about, dict) else about
        for name, about in update.items()
    }


@contextmanager
def readable_answer() -> Iterator[None]:
    """Turns the library's errors for unexpected JSON, for example from a proxy in between, into a TelegramError."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise TelegramError("unreadable answer") from None
