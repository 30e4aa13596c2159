"""One answer in its chat: its preview while it grows, and the final messages."""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from telegram import Bot
from telegram.error import Forbidden, InvalidToken, RetryAfter, TelegramError

from assistant.formatting.formatted import Formatted
from assistant.formatting.markdown import read_markdown
from assistant.formatting.splitting import split
from assistant.storage.memory import Place
from assistant.telegram.previews import Draft, EditedMessage, Preview, UnavailableError
from assistant.telegram.sending import seconds_of, send_parts, typing

LONGEST_RENDERED = 8000  # characters; the preview of a longer answer is its end, without formatting
LONGEST_END = 3000
SETTLE_SECONDS = 1.0  # to wait for a preview that is being sent, so that it does not arrive after the answer
FIRST_SECONDS = 20.0  # to wait for the id of the first message, because only with it the answer can replace the message
SHARE = 10.0  # pause between two previews, as a multiple of the time that rendering took


class DraftSupport:
    """Shared by all replies: whether the Bot API server supports drafts. An older server is tried only once."""

    is_supported = True
    is_in_hurry = False
    """The agent is being stopped, so that FIRST_SECONDS would be too long."""


class Reply:
    """An async context manager. While it is entered, the text given to `grow` is shown as often as Telegram allows."""

    def __init__(self, bot: Bot, place: Place, *, reply_to: int | None, is_private: bool, drafts: DraftSupport) -> None:
        self._bot = bot
        self._place = place
        self._reply_to = reply_to
        self._drafts = drafts
        is_draft = is_private and drafts.is_supported
        self._preview: Preview = Draft(bot, place) if is_draft else EditedMessage(bot, place, reply_to)
        self._is_shown = True
        self._text_changed = asyncio.Event()
        self._finished = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.text = ""
        self.is_final = False

    @property
    def draft_id(self) -> int | None:
        return self._preview.draft_id

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._show())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._settle()

    def grow(self, text: str) -> None:
        """Takes the whole answer so far."""
        self.text = text
        self._text_changed.set()

    async def finish(self, text: str, note: str = "") -> bool:
        """Sends this Markdown and the agent's own note below it. Returns whether Telegram accepted all of it."""
        self.is_final = True
        await self._settle()
        parsed = await asyncio.to_thread(read_markdown, text)
        if note:
            parsed = Formatted(f"{parsed.text}\n\n{note}" if parsed.text else note, parsed.spans)
        message = self._preview.message
        return await send_parts(self._bot, self._place, split(parsed), reply_to=self._reply_to, instead_of=message)

    async def withdraw(self) -> None:
        """Removes the preview from the chat. A draft disappears by itself."""
        await self._settle()
        if (message := self._preview.message) is not None:
            with suppress(TelegramError):
                await self._bot.delete_message(self._place.chat, message)

    async def _settle(self) -> None:
        """Ends the preview."""
        self._finished.set()
        self._text_changed.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=SETTLE_SECONDS)
            if self._preview.is_being_sent and not self._drafts.is_in_hurry:
                await asyncio.wait({self._task}, timeout=FIRST_SECONDS)
            self._task.cancel()

    async def _show(self) -> None:
        async with typing(self._bot, self._place):
            while isinstance(self._preview, Draft) and not self._text_changed.is_set():
                await self._try(Formatted(""))  # shows "Thinking…" and a stop button
                await self._wait_for_text(self._preview.renewed)
            await self._text_changed.wait()
            if isinstance(self._preview, EditedMessage):
                await self._pause(self._preview.pause)  # most answers are complete by then
                await self._show_growing()
        await self._show_growing()  # outside of `typing`, because a draft shows by itself that more follows

    async def _show_growing(self) -> None:
        shown = Formatted("")
        while self._is_shown and not self._finished.is_set():
            self._text_changed.clear()
            began = time.monotonic()
            part = await asyncio.to_thread(_end_of, self.text)
            cost = time.monotonic() - began
            if self._finished.is_set():
                return
            if part != shown or self._preview.renewed is not None:
                await self._try(part)
                shown = part
            await self._pause(max(self._preview.pause, cost * SHARE))
            await self._wait_for_text(self._preview.renewed)

    async def _wait_for_text(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._text_changed.wait(), seconds)

    async def _try(self, part: Formatted) -> None:
        try:
            await self._preview.show(part)
        except UnavailableError as error:
            self._fall_back(error)
        except Forbidden:
            self._is_shown = False
        except RetryAfter as error:
            await self._pause(seconds_of(error))
        except TelegramError:
            pass  # the next preview may succeed, and only the answer itself matters

    def _fall_back(self, error: UnavailableError) -> None:
        if not isinstance(self._preview, Draft):
            self._is_shown = False
            return
        if isinstance(error.__cause__, InvalidToken):  # the library raises it for a 404
            self._drafts.is_supported = False
        self._preview = EditedMessage(self._bot, self._place, self._reply_to)

    async def _pause(self, seconds: float) -> None:
        """Waits so many seconds, or until the answer is finished."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._finished.wait(), seconds)


def _end_of(text: str) -> Formatted:
    """Returns as much of the end of the text as fits into one message."""
    if len(text) > LONGEST_RENDERED:
        return Formatted(text[-LONGEST_END:].partition("\n")[2] or text[-LONGEST_END:])
    parts = split(read_markdown(text))
    return parts[-1] if parts else Formatted("")
