"""While a tunnel's host does not read, the agent's data is not read either, even if the connection also pauses for
another reason.
"""

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from gateway.entries.entry import Entry
from gateway.pipes.agent_connection import AgentConnection
from gateway.rules.cpu_share import CpuShare
from gateway.rules.rates import Rates
from gateway.tunnels.target import Target
from gateway.tunnels.tunnel import Tunnels

pytestmark = pytest.mark.one_database

TARGET = Target("files.example.org", 443)
SIZE = 1 << 20


class Near(asyncio.Transport):
    is_paused = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


class FarWriter:
    """Accepts everything, and reports it as unsent until `read` is set."""

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

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class Asked(dict[Any, Any]):
    """The parts of a request that a tunnel uses; aiohttp's own fake cannot hold a real connection."""

    def __init__(self, transport: Near, protocol: AgentConnection) -> None:
        super().__init__()
        self.transport, self.protocol, self.writer = transport, protocol, SimpleNamespace(write=nothing)


@pytest.mark.parametrize("paused_for", ["the share", "the tail"])
def test_a_pause_of_the_tunnel_outlasts_all_others(paused_for: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        loop, near, far, reader = asyncio.get_running_loop(), Near(), FarWriter(), asyncio.StreamReader()
        connection = AgentConnection(web.Server(nothing), CpuShare(0.03, loop.time), loop=loop)
        connection.connection_made(near)
        connection._upgraded = True
        if paused_for == "the share":
            connection._message_tail = bytes(SIZE)
            connection._hold(60)
        else:
            connection.data_received(bytes(SIZE))
        monkeypatch.setattr("gateway.tunnels.tunnel.open_far_end", partial(answer, (reader, far)))
        request: Any = Asked(near, connection)
        entry = Entry("p", hosts=frozenset({TARGET}))
        tunnel = asyncio.ensure_future(Tunnels(Rates(loop.time), nothing).call(request, entry, TARGET))
        while not far.came:
            await asyncio.sleep(0)
        forwarder: Any = connection._payload_parser
        if paused_for == "the share":
            connection._release()  # as its timer does
        assert far.came == SIZE
        assert near.is_paused, "what the far end does not take would fill the memory"
        draining = forwarder._draining
        far.read.set()
        await draining
        assert not near.is_paused
        connection.data_received(b"more")
        assert far.came == SIZE + 4
        reader.feed_eof()
        await tunnel

    asyncio.run(asyncio.wait_for(test(), 60))


async def nothing(*_given: Any, **_: Any) -> Any:
    return None


async def answer(what: Any, *_given: Any) -> Any:
    return what
