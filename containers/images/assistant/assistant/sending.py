"""Sends texts to a chat in parts, and waits where Telegram asks for it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from telegram import Bot, ReplyParameters
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TelegramError, TimedOut

from assistant.memory import Place
from assistant.splitting import split

TRIES = 4
LONGEST_WAIT = 60.0  # seconds
TYPING_SHOWN = 4.5  # Telegram shows "typing…" for five seconds

logger = logging.getLogger(__name__)


async def send_text(bot: Bot, place: Place, text: str, *, reply_to: int | None = None) -> bool:
    """Sends the text and returns whether Telegram took all parts. A blocked or deleted chat is no error."""
    for part in split(text):
        if not await _send_part(bot, place, part, reply_to):
            return False
        reply_to = None
    return True


async def _send_part(bot: Bot, place: Place, part: str, reply_to: int | None) -> bool:
    reply = ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None
    for attempt in range(TRIES):
        try:
            await bot.send_message(place.chat, part, message_thread_id=place.topic or None, reply_parameters=reply)
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
async def typing(bot: Bot, place: Place) -> AsyncIterator[None]:
    """Shows "typing…" in the chat while the block runs."""
    shown = asyncio.create_task(_type(bot, place))
    try:
        yield
    finally:
        shown.cancel()
        await asyncio.wait({shown})  # and lets a cancellation of the block itself through


async def _type(bot: Bot, place: Place) -> None:
    while True:
        with suppress(TelegramError):
            await bot.send_chat_action(place.chat, "typing", message_thread_id=place.topic or None)
        await asyncio.sleep(TYPING_SHOWN)
