"""A tunnel whose far end does not read is not read from, whatever else the connection was paused for."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from gateway.pipes.connection import Connection
from gateway.rules.share import Share
from gateway.tunnels.tunnel import Forwarder

pytestmark = pytest.mark.one_database


class Near(asyncio.Transport):
    is_paused = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class FarWriter:
    """Takes all, and has sent nothing on until `read` is set."""

    def __init__(self) -> None:
        self.read = asyncio.Event()
        self.came = 0
        self.transport = self

    def write(self, data: bytes) -> None:
        self.came += len(data)

    def get_write_buffer_size(self) -> int:
        return 0 if self.read.is_set() else self.came

    async def drain(self) -> None:
        await self.read.wait()


@pytest.mark.parametrize("paused_for", ["the share", "the tail"])
def test_a_pause_of_the_tunnel_outlasts_all_others(paused_for: str) -> None:
    async def test() -> None:
        async def handle(_request: Any) -> web.StreamResponse:
            raise AssertionError

        loop = asyncio.get_running_loop()
        connection = Connection(web.Server(handle), Share(0.03, loop.time), loop=loop)
        near, far = Near(), FarWriter()
        connection.connection_made(near)
        writer: Any = far
        tunnel: Any = Forwarder(connection, writer, lambda _size: 0.0)
        connection._upgraded = True
        if paused_for == "the share":
            connection._message_tail = bytes(1 << 17)
            connection._hold(60)
        else:
            connection.data_received(bytes(1 << 17))
        connection.set_parser(tunnel)
        if paused_for == "the share":
            connection._let_go()  # as its timer does
        assert far.came == 1 << 17
        assert near.is_paused, "what the far end does not take would fill the memory"
        draining = tunnel._draining
        far.read.set()
        await draining
        assert not near.is_paused
        connection.data_received(b"more")
        assert far.came == (1 << 17) + 4

    asyncio.run(test())
