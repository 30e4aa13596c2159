"""Runs a long poll of Telegram, and gives it up as soon as a newer one of the same bot comes."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from gateway.pipes.piece_filter import BrokenError
from gateway.telegram.polls import Poll, Polls

NOTHING = b'{"ok":true,"result":[]}'
PAUSE = 1.0
"""Seconds to wait before a poll that a newer one has replaced gets its empty result. Without it, two programs that poll
the same bot would replace each other's polls as fast as they can."""

REST_WITHIN = 0.25
"""Seconds in which an answer that has begun must end once a newer poll waits. Agents read theirs in milliseconds. If it
is cut, its messages are not confirmed, so that the newer poll gets them again."""

Ask = Callable[[asyncio.Event], Awaitable[web.StreamResponse]]
"""Calls Telegram and passes the answer on. Sets the event when the answer has begun."""


async def poll(polls: Polls, bot: str, project: str, ask: Ask) -> web.StreamResponse:
    """Returns Telegram's answer, or an empty result if the poll is ended early. Raises BrokenError if the answer has
    begun by then and does not end in time.
    """
    async with polls.take(bot, project) as mine:
        answer = None if mine.is_over.is_set() else await _ask_until_over(mine, ask)
    if answer is not None:
        return answer
    if not mine.is_cancelled:
        await asyncio.sleep(PAUSE)
    return web.Response(body=NOTHING, content_type="application/json")


async def _ask_until_over(mine: Poll, ask: Ask) -> web.StreamResponse | None:
    answered = asyncio.Event()
    asking = asyncio.ensure_future(ask(answered))
    over = asyncio.ensure_future(mine.is_over.wait())
    try:
        await asyncio.wait({asking, over}, return_when=asyncio.FIRST_COMPLETED)
        # An answer that has begun may end, because its messages would otherwise come twice.
        if answered.is_set():
            await asyncio.wait({asking}, timeout=REST_WITHIN)
        if asking.done():
            return await asking
        if answered.is_set():
            raise BrokenError
        return None
    finally:
        over.cancel()
        asking.cancel()
        await asyncio.wait({asking})
