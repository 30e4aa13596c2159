"""Sends texts to a chat in parts, and waits when Telegram asks for it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from httpx import ConnectTimeout, PoolTimeout
from telegram import Bot, LinkPreviewOptions, MessageEntity, ReplyParameters
from telegram.error import BadRequest, ChatMigrated, NetworkError, RetryAfter, TelegramError, TimedOut

from assistant.formatting.formatted import Formatted, clean, units
from assistant.formatting.splitting import split
from assistant.storage.memory import Place

LONGEST_WAIT = 60.0  # seconds
PERSISTS = 300.0  # seconds of retries: a shorter outage of Telegram or the gateway loses no message
MOST_PAUSE = 8.0  # seconds between two tries
SENT_WITHIN = 60.0  # seconds to wait for the response to a new message; without it, nobody knows whether it arrived
TYPING_SHOWN = 4.5  # Telegram shows "typing…" for five seconds
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
UNCHANGED = "message is not modified"
NOT_SENT = (ConnectTimeout, PoolTimeout)
"""Causes of a time-out in which no part of the request was sent."""

logger = logging.getLogger(__name__)


async def send_text(bot: Bot, place: Place, text: str, *, reply_to: int | None = None) -> bool:
    """Sends the text without formatting. Returns whether Telegram accepted all of it."""
    return await send_parts(bot, place, split(Formatted(clean(text).strip())), reply_to=reply_to)


async def send_parts(
    bot: Bot, place: Place, parts: Sequence[Formatted], *, reply_to: int | None = None, instead_of: int | None = None
) -> bool:
    """Returns whether Telegram accepted all parts. Raises nothing for a blocked or deleted chat. Follows a group that
    became a supergroup.

    The first part replaces the text of the message `instead_of`, if that message still exists.
    """
    left = list(parts)
    try:
        return await _send_all(bot, place, left, reply_to, instead_of)
    except ChatMigrated as error:
        with suppress(ChatMigrated):
            return await _send_all(bot, Place(error.new_chat_id), left, None, None)
        return _give_up(error)


async def _send_all(
    bot: Bot, place: Place, left: list[Formatted], reply_to: int | None, instead_of: int | None
) -> bool:
    """Sends the parts in `left` and removes each one that was sent. Raises ChatMigrated."""
    while left:
        is_edited = instead_of is not None and await _edit_part(bot, place, left[0], instead_of)
        if not is_edited and not await _send_part(bot, place, left[0], reply_to):
            return False
        instead_of, reply_to = None, reply_to if is_edited else None
        del left[0]
    return True


async def send_once(bot: Bot, place: Place, part: Formatted, reply_to: int | None) -> int:
    """Sends one message and returns its id. Raises TelegramError."""
    reply = ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None
    sent = await bot.send_message(
        place.chat,
        part.text,
        entities=to_entities(part),
        message_thread_id=place.topic or None,
        reply_parameters=reply,
        link_preview_options=NO_PREVIEW,
        read_timeout=SENT_WITHIN,
    )
    return sent.message_id


async def edit_once(bot: Bot, place: Place, part: Formatted, message: int) -> None:
    """Edits a message. Raises TelegramError."""
    try:
        await bot.edit_message_text(
            part.text, place.chat, message, entities=to_entities(part), link_preview_options=NO_PREVIEW
        )
    except BadRequest as error:
        if UNCHANGED not in str(error).lower():
            raise


async def _send_part(bot: Bot, place: Place, part: Formatted, reply_to: int | None) -> bool:
    return await _persist(lambda each: send_once(bot, place, each, reply_to), part, again_after_time_out=False)


async def _edit_part(bot: Bot, place: Place, part: Formatted, message: int) -> bool:
    return await _persist(lambda each: edit_once(bot, place, each, message), part, again_after_time_out=True)


async def _persist(
    call: Callable[[Formatted], Awaitable[object]], part: Formatted, *, again_after_time_out: bool
) -> bool:
    """Retries until it is clear whether Telegram accepts the part. If Telegram refuses it, tries without formatting."""
    until, attempt = time.monotonic() + PERSISTS, 0
    while True:
        try:
            await call(part)
        except BadRequest as error:
            if not part.spans:
                return _give_up(error)
            part = Formatted(part.text)
        except ChatMigrated:
            raise
        except TelegramError as error:
            pause = _pause_after(error, attempt, again_after_time_out=again_after_time_out)
            if pause is None or time.monotonic() + pause > until:
                return _give_up(error)
            await asyncio.sleep(pause)
            attempt += 1
        else:
            return True


def _pause_after(error: TelegramError, attempt: int, *, again_after_time_out: bool) -> float | None:
    """Returns the seconds to wait before the next try, or None if trying again is pointless."""
    if isinstance(error, RetryAfter):
        return min(seconds_of(error), LONGEST_WAIT)
    if isinstance(error, TimedOut) and not again_after_time_out and not isinstance(error.__cause__, NOT_SENT):
        return None  # it may have arrived, and a duplicate message is worse than a missing one
    return min(float(1 << min(attempt, 10)), MOST_PAUSE) if isinstance(error, NetworkError) else None


def _give_up(error: TelegramError) -> bool:
    logger.warning("a message was not sent: %s", type(error).__name__)
    return False


def to_entities(part: Formatted) -> list[MessageEntity]:
    """Returns the spans as Telegram's entities, whose offsets are in UTF-16 code units."""
    found = []
    for span in part.spans:
        start, length = units(part.text[: span.start]), units(part.text[span.start : span.end])
        url = span.value if span.kind == "text_link" else None
        language = span.value or None if span.kind == "pre" else None
        found.append(MessageEntity(span.kind, start, length, url=url, language=language))
    return found


def seconds_of(error: RetryAfter) -> float:
    wait: int | float | timedelta = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


@asynccontextmanager
async def typing(bot: Bot, place: Place) -> AsyncIterator[None]:
    """Shows "typing…" in the chat while the block runs."""
    shown = asyncio.create_task(_type(bot, place))
    try:
        yield
    finally:
        shown.cancel()
        await asyncio.wait({shown})  # unlike `await shown`, does not swallow a cancellation of the block itself


async def _type(bot: Bot, place: Place) -> None:
    while True:
        with suppress(TelegramError):
            await bot.send_chat_action(place.chat, "typing", message_thread_id=place.topic or None)
        await asyncio.sleep(TYPING_SHOWN)
