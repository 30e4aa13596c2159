"""Delivers reminders when they are due, and later where the agent was not there or Telegram was not to be had."""

import asyncio
import logging
import sqlite3
from contextlib import suppress
from datetime import datetime, tzinfo

from telegram import Bot
from telegram.error import BadRequest, ChatMigrated, Forbidden, TelegramError, TimedOut

from assistant.formatted import Formatted
from assistant.reminders import Reminder, Reminders
from assistant.sending import NOT_SENT, send_once
from assistant.texts import Text, say

LATE = 120  # seconds after which a reminder says that it is late
AGAIN = 15.0  # seconds, between two tries, and between two looks at the clock, which may be set

logger = logging.getLogger(__name__)


class Delivering:
    def __init__(self, bot: Bot, reminders: Reminders, zone: tzinfo) -> None:
        self._bot = bot
        self._reminders = reminders
        self._zone = zone
        self._news = asyncio.Event()
        reminders.changed = self._news.set

    async def run(self) -> None:
        """For ever."""
        while True:
            self._news.clear()
            pause: float | None = AGAIN
            try:
                pause = await self._deliver_due()
            except sqlite3.Error:
                logger.exception("reminders could not be looked at")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)

    async def _deliver_due(self) -> float | None:
        """Seconds until the next look; None where there is nothing to look for."""
        for reminder in self._reminders.due():
            if await self._deliver(reminder):
                self._reminders.remove(reminder.number, reminder.place)
        due = self._reminders.next()
        return None if due is None else min(max(due - self._reminders.now(), 0.0) or AGAIN, AGAIN)

    async def _deliver(self, reminder: Reminder) -> bool:
        """Whether that is done with: delivered, or not to be delivered ever."""
        try:
            await send_once(self._bot, reminder.place, Formatted(self._write(reminder)), None)
        except (Forbidden, BadRequest, ChatMigrated) as error:
            logger.warning("a reminder cannot be delivered: %s", type(error).__name__)
        except TelegramError as error:
            # It may have arrived, and one that comes twice is worse than one missing.
            return isinstance(error, TimedOut) and not isinstance(error.__cause__, NOT_SENT)
        return True

    def _write(self, reminder: Reminder) -> str:
        if self._reminders.now() - reminder.due < LATE:
            return say(Text.REMINDER, reminder.language, what=reminder.text)
        when = f"{datetime.fromtimestamp(reminder.due, self._zone):%Y-%m-%d %H:%M} ({self._zone})"
        return say(Text.REMINDER_LATE, reminder.language, what=reminder.text, when=when)
