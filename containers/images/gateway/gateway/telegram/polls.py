"""One getUpdates at a time per bot. The newest wins; the older one ends with an empty result.

Telegram would answer the older one with a 409, on which agents give up.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager


class Poll:
    def __init__(self, project: str) -> None:
        self.project = project
        self.is_over = asyncio.Event()
        """Set when a newer poll has come, the bot's entry has changed, or the gateway is stopped."""
        self.is_fenced = False
        """Whether it is over for another reason than a newer poll."""
        self.has_ended = asyncio.Event()


class Polls:
    def __init__(self) -> None:
        self._current: dict[str, Poll] = {}
        self._is_closed = False

    @asynccontextmanager
    async def take(self, bot: str, project: str) -> AsyncIterator[Poll]:
        """This poll is the bot's current one. The one before it has ended when this returns."""
        poll = Poll(project)
        if self._is_closed:
            self._end([poll])
        before = self._current.get(bot)
        self._current[bot] = poll
        try:
            if before is not None:
                before.is_over.set()
                await before.has_ended.wait()
            yield poll
        finally:
            poll.has_ended.set()
            if self._current.get(bot) is poll:
                del self._current[bot]

    def end_of(self, project: str) -> None:
        """Ends the polls of a project whose token has changed or is void."""
        self._end(poll for poll in self._current.values() if poll.project == project)

    async def wait_for_end_of(self, project: str, *, within: float) -> None:
        """Until its polls have ended and are on the way to being answered, or so many seconds have passed."""
        ending = [
            asyncio.ensure_future(poll.has_ended.wait()) for poll in self._current.values() if poll.project == project
        ]
        if ending:
            _, late = await asyncio.wait(ending, timeout=within)
            for each in late:
                each.cancel()
            await asyncio.sleep(0)

    def end_all(self) -> None:
        """Ends every poll, also later ones, with an empty result: the gateway ends, and agents ask its successor."""
        self._is_closed = True
        self._end(self._current.values())

    @staticmethod
    def _end(polls: Iterable[Poll]) -> None:
        for poll in polls:
            poll.is_fenced = True
            poll.is_over.set()
