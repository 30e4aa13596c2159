"""Sends texts to a chat in parts, and waits where Telegram asks for it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from telegram import Bot
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TelegramError, TimedOut

from assistant.splitting import split

TRIES = 4
LONGEST_WAIT = 60.0  # seconds
TYPING_SHOWN = 4.5  # Telegram shows "typing…" for five seconds

logger = logging.getLogger(__name__)


async def send_text(bot: Bot, chat_id: int, text: str) -> bool:
    """Sends the text and returns whether Telegram took all parts. A blocked or deleted chat is no error."""
    for part in split(text):
        if not await _send_part(bot, chat_id, part):
            return False
    return True


async def _send_part(bot: Bot, chat_id: int, part: str) -> bool:
    for attempt in range(TRIES):
        try:
            await bot.send_message(chat_id, part)
        except RetryAfter as error:
            await asyncio.sleep(min(_seconds(error.retry_after), LONGEST_WAIT))
        except (Forbidden, BadRequest, TimedOut) as error:
            # Not repeated after a time-out: it may have arrived, and a message sent twice is worse than one missing.
            logger.warning("a message was not sent: %s", type(error).__name__)
            return False
        except NetworkError:
            await asyncio.sleep(1 << attempt)
        except TelegramError as error:
            logger.warning("a message was not sent: %s", type(error).__name__)
            return False
        else:
            return True
    logger.warning("a message was not sent: given up after %d tries", TRIES)
    return False


def _seconds(wait: int | float | timedelta) -> float:
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


@asynccontextmanager
async def typing(bot: Bot, chat_id: int) -> AsyncIterator[None]:
    """Shows "typing…" in the chat while the block runs."""
    shown = asyncio.create_task(_type(bot, chat_id))
    try:
        yield
    finally:
        shown.cancel()
        with suppress(asyncio.CancelledError):
            await shown


async def _type(bot: Bot, chat_id: int) -> None:
    while True:
        with suppress(TelegramError):
            await bot.send_chat_action(chat_id, "typing")
        await asyncio.sleep(TYPING_SHOWN)
