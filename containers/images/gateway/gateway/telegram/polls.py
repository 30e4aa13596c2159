"""Allows one getUpdates at a time for each bot. The newest wins; the older one ends with an empty result.

Otherwise Telegram would answer the older one with a 409, and agents give up after that.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager


class Poll:
    def __init__(self, project: str) -> None:
        self.project = project
        self.is_over = asyncio.Event()
        """Set when a newer poll has come, the bot's entry has changed, or the gateway is stopped."""
        self.is_cancelled = False
        """Whether it is over for a reason other than a newer poll."""
        self.has_ended = asyncio.Event()


class Polls:
    def __init__(self) -> None:
        self._current: dict[str, Poll] = {}
        self._is_closed = False

    @asynccontextmanager
    async def take(self, bot: str, project: str) -> AsyncIterator[Poll]:
        """Makes this poll the bot's current one while the context is open. Waits until the one before has ended."""
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
        """Waits at most `within` seconds until the project's polls have ended and their answers are being written."""
        ending = [
            asyncio.ensure_future(poll.has_ended.wait()) for poll in self._current.values() if poll.project == project
        ]
        if ending:
            _, late = await asyncio.wait(ending, timeout=within)
            for each in late:
                each.cancel()
            await asyncio.sleep(0)

    def end_all(self) -> None:
        """Ends all polls, later ones included, with an empty result, because the gateway is stopping and its successor
        will poll.
        """
        self._is_closed = True
        self._end(self._current.values())

    @staticmethod
    def _end(polls: Iterable[Poll]) -> None:
        for poll in polls:
            poll.is_cancelled = True
            poll.is_over.set()
