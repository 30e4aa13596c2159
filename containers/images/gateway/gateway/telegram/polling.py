"""A long poll: held by Telegram, and given up as soon as a newer one comes."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from gateway.pipes.piece_filter import BrokenError
from gateway.telegram.polls import Polls

NOTHING = b'{"ok":true,"result":[]}'
PAUSE = 1.0
"""Seconds for which a poll that a newer one has ended is held. Two programs that poll one bot, and end each other's
polls, would otherwise ask as fast as they can."""

REST_WITHIN = 0.25
"""Seconds that an answer which has begun has for its end once a newer poll waits for it. Agents take theirs in
milliseconds. One that is cut has confirmed nothing, so that its messages come again, to the newer poll."""

Ask = Callable[[asyncio.Event], Awaitable[web.StreamResponse]]
"""Asks Telegram and passes the answer on. Sets the event when the answer has begun."""


async def poll(polls: Polls, bot: str, project: str, ask: Ask) -> web.StreamResponse:
    answered = asyncio.Event()
    async with polls.take(bot, project) as mine:
        asking = asyncio.ensure_future(ask(answered))
        over = asyncio.ensure_future(mine.is_over.wait())
        try:
            await asyncio.wait({asking, over}, return_when=asyncio.FIRST_COMPLETED)
            # An answer that has begun is brought to its end: its messages would otherwise come twice.
            if answered.is_set():
                await asyncio.wait({asking}, timeout=REST_WITHIN)
            if asking.done():
                return await asking
            if answered.is_set():
                raise BrokenError
        finally:
            over.cancel()
            asking.cancel()
            await asyncio.wait({asking})
    if not mine.is_fenced:
        await asyncio.sleep(PAUSE)
    return web.Response(body=NOTHING, content_type="application/json")
