"""One answer in its chat: what it looks like while it grows, and what stays of it in the end."""

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
from assistant.remembering.memory import Place
from assistant.telegram.previews import Draft, Edited, Preview, UnavailableError
from assistant.telegram.sending import seconds_of, send_parts, typing

LONGEST_RENDERED = 8000  # characters; of a longer answer the end is shown as it is until all of it is there
LONGEST_END = 3000
SETTLE_SECONDS = 1.0  # for a call that is under way when the answer is there, so that it does not overtake that
FIRST_SECONDS = 20.0  # for a message that is on its way: without its number the answer cannot take its place
SHARE = 10.0  # times as long as rendering took is nothing rendered


class Drafts:
    """What all replies know. Whether the server knows drafts: one that is older than they are is asked once."""

    are_known = True
    is_in_hurry = False
    """The agent is being stopped: nothing is waited for that long."""


class Reply:
    """While it is entered, what `grow` is given is shown as often as Telegram likes it."""

    def __init__(self, bot: Bot, place: Place, *, reply_to: int | None, is_private: bool, drafts: Drafts) -> None:
        self._bot = bot
        self._place = place
        self._reply_to = reply_to
        self._drafts = drafts
        is_draft = is_private and drafts.are_known
        self._preview: Preview = Draft(bot, place) if is_draft else Edited(bot, place, reply_to)
        self._is_shown = True
        self._news = asyncio.Event()
        self._over = asyncio.Event()
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
        """All of the answer that there is."""
        self.text = text
        self._news.set()

    async def finish(self, text: str, words: str = "") -> bool:
        """Leaves this Markdown in the chat, and the agent's own words below; whether Telegram took all of it."""
        self.is_final = True
        await self._settle()
        said = await asyncio.to_thread(read_markdown, text)
        if words:
            said = Formatted(f"{said.text}\n\n{words}" if said.text else words, said.spans)
        message = self._preview.message
        return await send_parts(self._bot, self._place, split(said), reply_to=self._reply_to, instead_of=message)

    async def take_back(self) -> None:
        """Leaves nothing in the chat. A draft goes by itself."""
        await self._settle()
        if (message := self._preview.message) is not None:
            with suppress(TelegramError):
                await self._bot.delete_message(self._place.chat, message)

    async def _settle(self) -> None:
        """Shows nothing more of how it grows."""
        self._over.set()
        self._news.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=SETTLE_SECONDS)
            if self._preview.is_being_sent and not self._drafts.is_in_hurry:
                await asyncio.wait({self._task}, timeout=FIRST_SECONDS)
            self._task.cancel()

    async def _show(self) -> None:
        async with typing(self._bot, self._place):
            while isinstance(self._preview, Draft) and not self._news.is_set():
                await self._try(Formatted(""))  # "Thinking…", and a button to stop
                await self._wait_for_news(self._preview.renewed)
            await self._news.wait()
            if isinstance(self._preview, Edited):
                await self._rest(self._preview.pause)  # most answers are there by then
                await self._show_growing()
        await self._show_growing()  # a draft says by itself that there is more to come

    async def _show_growing(self) -> None:
        shown = Formatted("")
        while self._is_shown and not self._over.is_set():
            self._news.clear()
            began = time.monotonic()
            part = await asyncio.to_thread(_end_of, self.text)
            cost = time.monotonic() - began
            if self._over.is_set():
                return
            if part != shown or self._preview.renewed is not None:
                await self._try(part)
                shown = part
            await self._rest(max(self._preview.pause, cost * SHARE))
            await self._wait_for_news(self._preview.renewed)

    async def _wait_for_news(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    async def _try(self, part: Formatted) -> None:
        try:
            await self._preview.show(part)
        except UnavailableError as error:
            self._do_without(error)
        except Forbidden:
            self._is_shown = False
        except RetryAfter as error:
            await self._rest(seconds_of(error))
        except TelegramError:
            pass  # the next one may get through, and the answer itself is what counts

    def _do_without(self, error: UnavailableError) -> None:
        if not isinstance(self._preview, Draft):
            self._is_shown = False
            return
        if isinstance(error.__cause__, InvalidToken):  # how the library calls a 404
            self._drafts.are_known = False
        self._preview = Edited(self._bot, self._place, self._reply_to)

    async def _rest(self, seconds: float) -> None:
        """Waits, but not any longer than the answer takes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)


def _end_of(text: str) -> Formatted:
    """As much of the end as one message holds."""
    if len(text) > LONGEST_RENDERED:
        return Formatted(text[-LONGEST_END:].partition("\n")[2] or text[-LONGEST_END:])
    parts = split(read_markdown(text))
    return parts[-1] if parts else Formatted("")
