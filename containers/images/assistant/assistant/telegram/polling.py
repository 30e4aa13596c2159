"""Polls Telegram for messages, and decides when to give up."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

from telegram import Bot, Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from agent_contract import ExitCode, ProblemCode
from assistant.config import Config
from assistant.telegram.updates import Fetched, PollingBot, readable_answer
from berth_agent.outcome import FatalError, Problem
from berth_agent.preflight import TOKEN_REJECTED, UNREACHABLE
from berth_agent.status import Status

POLL_SECONDS = 25  # Telegram holds a long poll this long; well below the 90 s of the health check
LONGEST_PAUSE = 30.0  # seconds between tries
BLIPS = 3  # failures in a row before they are reported as a problem
FEW_CONFLICTS = 3  # fewer are tolerated, because the last poll of the replaced container may still be open

ELSEWHERE = "Another program polls this bot, or a webhook is set for it."

logger = logging.getLogger(__name__)


class RetryPolicy:
    """Decides how long to wait after an error of Telegram, and when to give up."""

    def __init__(self, config: Config, status: Status) -> None:
        self._config = config
        self._status = status
        self._now = asyncio.get_running_loop().time
        self._last_success = self._now()
        self._failures = 0
        self._conflicts: list[float] = []

    @property
    def long_poll_seconds(self) -> int:
        """How many seconds Telegram may hold a poll. Shorter during a conflict, so that its end is noticed soon."""
        return max(1, round(self._config.conflict_seconds / 3)) if self._conflicts else POLL_SECONDS

    def succeeded(self) -> None:
        self._last_success = self._now()
        self._failures = 0
        # Two pollers succeed in turn, so a conflict is over only after some time without an error.
        if self._conflicts and self._now() - self._conflicts[-1] > self._config.conflict_seconds / 3:
            self._conflicts.clear()
        if not self._conflicts:
            self._status.note_telegram(None)

    def pause_after(self, error: TelegramError) -> float:
        """Returns the seconds to wait before the next try. Raises FatalError if the agent should give up."""
        if _is_definite(error):
            raise FatalError(ExitCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_TOKEN, TOKEN_REJECTED)
        if isinstance(error, Conflict):
            return self._pause_after_conflict()
        self._failures += 1
        logger.warning("Telegram did not answer: %s", type(error).__name__)
        if self._now() - self._last_success > self._config.unreachable_seconds:
            raise FatalError(ExitCode.TELEGRAM_UNREACHABLE, ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE)
        if self._failures >= BLIPS:
            self._status.note_telegram(Problem(ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE))
        if isinstance(error, RetryAfter):
            return min(_seconds(error.retry_after), LONGEST_PAUSE)
        return min(float(1 << min(self._failures - 1, 10)), LONGEST_PAUSE, self._config.unreachable_seconds / 4)

    def _pause_after_conflict(self) -> float:
        self._last_success = self._now()  # a conflict is an answer too
        self._conflicts.append(self._now())
        lasted = self._conflicts[-1] - self._conflicts[0]
        if lasted >= self._config.conflict_seconds and len(self._conflicts) >= FEW_CONFLICTS:
            raise FatalError(ExitCode.TELEGRAM_CONFLICT, ProblemCode.TELEGRAM_CONFLICT, ELSEWHERE)
        self._status.note_telegram(Problem(ProblemCode.TELEGRAM_CONFLICT, ELSEWHERE))
        return min(float(1 << min(len(self._conflicts) - 1, 3)), self._config.conflict_seconds / 4)


async def sign_in(bot: Bot, retries: RetryPolicy) -> None:
    """Calls getMe until Telegram answers."""
    while True:
        try:
            with readable_answer():
                await bot.initialize()
        except TelegramError as error:
            await asyncio.sleep(retries.pause_after(error))
        else:
            retries.succeeded()
            return


def _is_definite(error: TelegramError) -> bool:
    """Returns whether Telegram itself rejects the token. The library raises the same error for a proxy's 404."""
    while isinstance(error.__cause__, InvalidToken):  # Bot.initialize wraps it
        error = error.__cause__
    return isinstance(error, InvalidToken) and error.__cause__ is None


class Poller:
    def __init__(self, bot: PollingBot, status: Status, retries: RetryPolicy, take: Callable[[Update], None]) -> None:
        self._bot = bot
        self._status = status
        self._retries = retries
        self._take = take
        self._offset: int | None = None
        self._unconfirmed = False
        self._may_remove_webhook = True

    async def run(self) -> None:
        """Polls forever. The first poll does not wait, so that `running` is reported immediately."""
        long_poll_seconds = 0
        while True:
            try:
                fetched = await self._poll(long_poll_seconds)
            except TelegramError as error:
                long_poll_seconds = 0
                if not await self._remove_webhook(error):
                    await asyncio.sleep(self._retries.pause_after(error))
                continue
            self._retries.succeeded()
            self._status.note_poll()
            long_poll_seconds = self._retries.long_poll_seconds
            for number, update in fetched:
                self._offset, self._unconfirmed = number + 1, True
                if update is not None:
                    self._take(update)

    async def confirm(self) -> None:
        """Confirms the received messages to Telegram, so that the agent does not answer them again after a restart."""
        if self._unconfirmed and self._offset is not None:
            await self._bot.confirm(self._offset)

    async def _poll(self, long_poll_seconds: int) -> list[Fetched]:
        fetched = await self._bot.fetch(self._offset, long_poll_seconds)
        self._unconfirmed = False
        return fetched

    async def _remove_webhook(self, error: TelegramError) -> bool:
        """Removes a forgotten webhook, but only once: if it is set again, another program uses the bot."""
        if not (isinstance(error, Conflict) and "webhook" in str(error) and self._may_remove_webhook):
            return False
        self._may_remove_webhook = False
        logger.warning("a webhook was set for this bot; removing it, because the agent polls for messages")
        try:
            return await self._bot.delete_webhook()
        except TelegramError as failure:
            logger.warning("the webhook could not be removed: %s", type(failure).__name__)
            return False


def _seconds(wait: int | float | timedelta) -> float:
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
