"""Delivers reminders when they are due, or later if the agent was down or could not reach Telegram."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, tzinfo
from enum import Enum, auto

from telegram import Bot
from telegram.error import BadRequest, ChatMigrated, Forbidden, RetryAfter, TelegramError, TimedOut

from assistant.formatting.formatted import Formatted
from assistant.storage.memory import Place
from assistant.storage.recurrence import next_due
from assistant.storage.reminders import Reminder, Reminders
from assistant.telegram.sending import NOT_SENT, seconds_of, send_once
from assistant.texts import Text, translate

LATE = 120  # seconds after which a reminder says that it is late
AGAIN = 15.0  # seconds between two tries, and between two checks of the time, because the clock may be changed

logger = logging.getLogger(__name__)


class _Outcome(Enum):
    LATER = auto()
    DONE = auto()
    NEVER = auto()
    """The chat accepts no messages and never will."""


class ReminderDelivery:
    def __init__(self, bot: Bot, reminders: Reminders, zone: tzinfo, now: Callable[[], float] = time.monotonic) -> None:
        self._bot = bot
        self._reminders = reminders
        self._zone = zone
        self._now = now
        self._done: dict[int, _Outcome] = {}  # by number: handled reminders that the database could not remove
        self._held: dict[int, float] = {}  # by chat: when Telegram accepts messages again
        self._changed = asyncio.Event()
        reminders.changed = self._changed.set

    async def run(self) -> None:
        """Delivers reminders until cancelled."""
        while True:
            self._changed.clear()
            pause: float | None = AGAIN
            try:
                pause = await self._deliver_due()
            except sqlite3.Error:
                logger.exception("reminders could not be read or updated")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), pause)

    async def _deliver_due(self) -> float | None:
        """Returns the seconds until the next look, or None if no reminder is left."""
        found = self._reminders.due()
        numbers = {reminder.number for reminder in found}
        self._done = {number: outcome for number, outcome in self._done.items() if number in numbers}
        self._held = {chat: until for chat, until in self._held.items() if until > self._now()}
        for reminder in found:
            outcome = self._done.get(reminder.number) or await self._deliver(reminder)
            if outcome is not _Outcome.LATER:
                self._complete(reminder, outcome)
        due = self._reminders.next_due()
        return None if due is None else min(max(due - self._reminders.now(), 0.0) or AGAIN, AGAIN)

    def _complete(self, reminder: Reminder, outcome: _Outcome) -> None:
        """Removes or reschedules the reminder. If that fails, the next look tries again without sending the reminder
        again.
        """
        self._done[reminder.number] = outcome
        try:
            if reminder.repeat is None or outcome is _Outcome.NEVER:
                self._reminders.delete(reminder.number)
            else:
                due = next_due(reminder.due, reminder.repeat, self._reminders.now(), self._zone)
                self._reminders.reschedule(reminder.number, due)
        except sqlite3.Error as error:
            logger.warning("a delivered reminder could not be removed: %s", error)
        else:
            del self._done[reminder.number]

    async def _deliver(self, reminder: Reminder, *, is_moved: bool = False) -> _Outcome:
        if reminder.place.chat in self._held:
            return _Outcome.LATER
        try:
            await send_once(self._bot, reminder.place, Formatted(self._write(reminder)), None)
        except ChatMigrated as error:  # a group has become a supergroup
            new = self._move(reminder, error.new_chat_id)
            return _Outcome.NEVER if is_moved else await self._deliver(new, is_moved=True)
        except RetryAfter as error:
            self._held[reminder.place.chat] = self._now() + seconds_of(error)
            return _Outcome.LATER
        except (Forbidden, BadRequest) as error:
            logger.warning("a reminder cannot be delivered: %s", type(error).__name__)
            return _Outcome.NEVER
        except TelegramError as error:
            # The message may have arrived, and a duplicate reminder is worse than a missing one.
            may_have = isinstance(error, TimedOut) and not isinstance(error.__cause__, NOT_SENT)
            return _Outcome.DONE if may_have else _Outcome.LATER
        return _Outcome.DONE

    def _move(self, reminder: Reminder, chat: int) -> Reminder:
        """Moves all reminders of the chat, so that people there can still see and cancel them."""
        try:
            self._reminders.move(reminder.place.chat, chat)
        except sqlite3.Error as error:
            logger.warning("the reminders of a migrated group could not be moved: %s", error)
        return reminder._replace(place=Place(chat))

    def _write(self, reminder: Reminder) -> str:
        if self._reminders.now() - reminder.due < LATE:
            return translate(Text.REMINDER, reminder.language, what=reminder.text)
        when = f"{datetime.fromtimestamp(reminder.due, self._zone):%Y-%m-%d %H:%M} ({self._zone})"
        return translate(Text.REMINDER_LATE, reminder.language, what=reminder.text, when=when)
