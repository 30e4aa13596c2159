"""Ends connections: cuts incomplete answers, and lets agents read an answer that came before the end of their request.

If a connection is closed with unread data, the kernel resets it. Most clients send the whole request before they read,
and a reset takes the answer from them. So the rest of the request is read and dropped.
"""

import asyncio
from collections import Counter
from contextlib import suppress

from aiohttp import StreamReader, web

from gateway.pipes.agent_connection import address_of

LONGEST = 64 * 1024 * 1024
"""The most bytes of a body that are read, including those before the answer. More than the largest that may pass."""
WITHIN = 20.0
"""Seconds in which the rest is read. An address receives the longest in about ten."""
SILENCE = 2.0
"""Seconds that the agent may take for the next piece."""
MOST = 32
"""Connections of one address at a time. Others are closed at once."""


class Lingering:
    def __init__(self) -> None:
        self._reading: Counter[str] = Counter()

    async def finish(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Sends the answer and reads the rest of the request, if there is any. Raises ConnectionError."""
        transport = request.transport
        if request.content.at_eof() or transport is None or transport.is_closing() or request.method == "CONNECT":
            return
        if not response.prepared:
            response.force_close()
        await response.prepare(request)
        await response.write_eof()
        address = address_of(transport)
        if self._reading[address] < MOST:
            self._reading[address] += 1
            try:
                await _drop(request.content)
            finally:
                self._reading -= Counter([address])  # forgets addresses without any


async def _drop(body: StreamReader) -> None:
    await asyncio.sleep(0)  # an upload that an early answer has just ended lets go of the body
    with suppress(OSError, web.RequestPayloadError):
        async with asyncio.timeout(WITHIN):
            while body.total_bytes < LONGEST:
                async with asyncio.timeout(SILENCE):
                    if not await body.readany():
                        return


def cut(request: web.BaseRequest, *, within: float = 0.0) -> web.StreamResponse:
    """Closes the connection, so that the agent sees that its answer is incomplete.

    The agent has `within` seconds to receive what was already written.
    """
    if request.transport is not None and within:
        request.transport.close()
        asyncio.get_running_loop().call_later(within, request.transport.abort)
    elif request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)
