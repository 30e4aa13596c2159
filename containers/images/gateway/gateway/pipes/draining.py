"""Reads the data that an upstream has already sent when the agent hangs up."""

import asyncio
from contextlib import suppress
from enum import Enum, auto

import aiohttp

from gateway.pipes.piece_filter import Meter, PayFor, TimedMeter
from gateway.pipes.upstream_connection import cpu_time_of

SILENCE = 0.2
"""Seconds to wait for the next piece of an answer whose reader is gone."""
PATIENT_FOR = 1.0
"""Seconds after which only data that has already arrived is read, because the upstream keeps writing regardless."""
ARRIVED_WITHIN = 0.01
"""Seconds to wait for a piece then."""
LONGEST = 10.0


class Drained(Enum):
    """How much of an answer was read after its reader was gone."""

    COMPLETE = auto()
    """The whole answer was read."""
    INCOMPLETE = auto()
    """All data that had arrived was read; the rest of the answer was not sent in time."""
    ENDLESS = auto()
    """The answer arrives faster than it can be read."""


async def drain(answer: aiohttp.ClientResponse, meter: Meter, pay: PayFor = lambda *_: 0.0) -> Drained:
    """Feeds the meter with the data that the upstream had sent when the agent hung up.

    That data costs money, and there can be much of it if the agent has read nothing. Continues if the agent's lost
    connection cancels the call. Charges the processor time without waiting for it.
    """
    draining = asyncio.ensure_future(_drain(answer, meter, pay))
    while not draining.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([draining])
    return draining.result()


async def _drain(answer: aiohttp.ClientResponse, meter: Meter, pay: PayFor) -> Drained:
    loop, timed_meter = asyncio.get_running_loop(), TimedMeter(meter)
    began = loop.time()
    with suppress(aiohttp.ClientError, OSError):
        while loop.time() < began + LONGEST:
            silence = SILENCE if loop.time() < began + PATIENT_FOR else ARRIVED_WITHIN
            async with asyncio.timeout(silence):
                piece = await answer.content.readany()
            if not piece:
                meter.finish()
                return Drained.COMPLETE
            timed_meter.feed(piece)
            pay(len(piece), timed_meter.take() + cpu_time_of(answer).take())
            await asyncio.sleep(0)  # otherwise nothing suspends while there is data to decompress
        return Drained.ENDLESS
    return Drained.INCOMPLETE
