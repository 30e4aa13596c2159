"""How an answer is shown while it is being made: as a draft in a private chat, else as a message that is edited."""

import itertools
import time
from collections.abc import Iterator
from typing import Protocol

from telegram import Bot
from telegram.error import BadRequest, EndPointNotFound, InvalidToken, TimedOut

from assistant.formatting.formatted import Formatted
from assistant.remembering.memory import Place
from assistant.telegram.sending import NOT_SENT, edit_once, send_once, to_entities

DRAFT_SECONDS = 1.0  # between two drafts
EDIT_SECONDS = 3.0  # Telegram takes 20 messages a minute in a group
LIVES = 20.0  # seconds after which an unchanged draft is shown again: Telegram takes it away after 30

draft_ids: Iterator[int] = itertools.count(int(time.time()))


class UnavailableError(Exception):
    """This way of showing is not to be had here."""


class Preview(Protocol):
    pause: float
    """Seconds between two calls."""
    renewed: float | None
    """Seconds after which the same is to be shown again."""
    message: int | None
    """The message that the answer is to replace in the end."""
    draft_id: int | None
    is_being_sent: bool
    """Whether the message is on its way, so that it has no number yet."""

    async def show(self, part: Formatted) -> None:
        """Raises TelegramError, and UnavailableError where there is no point in trying again."""


class Draft:
    """With a button that stops the answer: the update `stopped_message_generation` follows."""

    pause = DRAFT_SECONDS
    renewed: float | None = LIVES
    message: int | None = None
    is_being_sent = False

    def __init__(self, bot: Bot, place: Place) -> None:
        self._bot = bot
        self._place = place
        self.draft_id: int | None = next(draft_ids)

    async def show(self, part: Formatted) -> None:
        """Without a text Telegram shows "Thinking…" in the language of the client."""
        try:
            await self._bot.send_message_draft(
                self._place.chat,
                self.draft_id or 0,
                part.text,
                message_thread_id=self._place.topic or None,
                entities=to_entities(part),
                api_kwargs={"can_stop": True, "keep_on_stop": True},
            )
        except (BadRequest, EndPointNotFound, InvalidToken) as error:
            if part.text:
                raise UnavailableError from error


class Edited:
    pause = EDIT_SECONDS
    renewed: float | None = None
    draft_id: int | None = None

    def __init__(self, bot: Bot, place: Place, reply_to: int | None) -> None:
        self._bot = bot
        self._place = place
        self._reply_to = reply_to
        self.message: int | None = None
        self.is_being_sent = False

    async def show(self, part: Formatted) -> None:
        if part.is_blank:
            return
        try:
            if self.message is None:
                await self._send(part)
            else:
                await edit_once(self._bot, self._place, part, self.message)
        except BadRequest as error:
            raise UnavailableError from error

    async def _send(self, part: Formatted) -> None:
        self.is_being_sent = True
        try:
            self.message = await send_once(self._bot, self._place, part, self._reply_to)
        except TimedOut as error:
            if isinstance(error.__cause__, NOT_SENT):
                raise
            raise UnavailableError from error  # it may have arrived: another one would be a second
        finally:
            self.is_being_sent = False
