"""Shows an answer while it is being written: as a draft in a private chat, otherwise as a message that is edited."""

import itertools
import time
from collections.abc import Iterator
from typing import Protocol

from telegram import Bot
from telegram.error import BadRequest, EndPointNotFound, InvalidToken, TimedOut

from assistant.formatting.formatted import Formatted
from assistant.storage.memory import Place
from assistant.telegram.sending import NOT_SENT, edit_once, send_once, to_entities

DRAFT_SECONDS = 1.0  # between two updates of a draft
EDIT_SECONDS = 3.0  # between two edits; Telegram accepts 20 messages per minute in a group
DRAFT_LIFETIME = 20.0  # seconds after which an unchanged draft is sent again, because Telegram removes it after 30

draft_ids: Iterator[int] = itertools.count(int(time.time()))


class UnavailableError(Exception):
    """This kind of preview does not work in this chat."""


class Preview(Protocol):
    pause: float
    """Seconds between two calls of `show`."""
    renewed: float | None
    """Seconds after which an unchanged preview must be shown again; None if it stays."""
    message: int | None
    """The id of the message that the final answer replaces, if there is one."""
    draft_id: int | None
    is_being_sent: bool
    """Whether the first message is still being sent, so that its id is not known yet."""

    async def show(self, part: Formatted) -> None:
        """Raises TelegramError, or UnavailableError if trying again is pointless."""


class Draft:
    """A draft with a stop button. Pressing it sends the update `stopped_message_generation`."""

    pause = DRAFT_SECONDS
    renewed: float | None = DRAFT_LIFETIME
    message: int | None = None
    is_being_sent = False

    def __init__(self, bot: Bot, place: Place) -> None:
        self._bot = bot
        self._place = place
        self.draft_id: int | None = next(draft_ids)

    async def show(self, part: Formatted) -> None:
        """Shows the text, or "Thinking…" in the client's language if the text is empty."""
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


class EditedMessage:
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
            raise UnavailableError from error  # it may have arrived, and sending it again would duplicate it
        finally:
            self.is_being_sent = False
