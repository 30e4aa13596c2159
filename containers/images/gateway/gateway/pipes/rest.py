"""Reads what an upstream has already sent when the agent hangs up."""

import asyncio
from contextlib import suppress
from enum import Enum, auto

import aiohttp

from gateway.pipes.incoming import Answer
from gateway.pipes.passage import Meter, Metered, PayFor

REST_SILENCE = 0.2
"""Seconds to wait for the next piece of an answer whose reader is gone."""
REST_WITHIN = 1.0
"""Seconds after which only data that has already arrived is read: the upstream has not noticed and keeps writing."""
AT_ONCE = 0.01
REST_LONGEST = 10.0


class Rest(Enum):
    """What is known about an answer after its reader is gone."""

    WHOLE = auto()
    SEEN = auto()
    """Everything was read."""
    ENDLESS = auto()
    """It arrives faster than it can be read."""


async def see_rest(answer: aiohttp.ClientResponse, meter: Meter, pay: PayFor = lambda *_: 0.0) -> Rest:
    """Counts what the upstream had sent already when the agent hung up: it is paid for, and can be much where the agent
    has read nothing. That the agent's connection is lost meanwhile, which cancels its call, ends nothing. What it takes
    of the processor is paid, without waiting."""
    seeing = asyncio.ensure_future(_see_rest(answer, meter, pay))
    while not seeing.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([seeing])
    return seeing.result()


async def _see_rest(answer: aiohttp.ClientResponse, meter: Meter, pay: PayFor) -> Rest:
    loop, metered = asyncio.get_running_loop(), Metered(meter)
    began = loop.time()
    with suppress(aiohttp.ClientError, OSError):
        while loop.time() < began + REST_LONGEST:
            silence = REST_SILENCE if loop.time() < began + REST_WITHIN else AT_ONCE
            async with asyncio.timeout(silence):
                piece = await answer.content.readany()
            if not piece:
                meter.finish()
                return Rest.WHOLE
            metered.feed(piece)
            pay(len(piece), metered.take() + (answer.spent.take() if isinstance(answer, Answer) else 0.0))
            await asyncio.sleep(0)  # else nothing suspends, as long as there is something to unpack
        return Rest.ENDLESS
    return Rest.SEEN
