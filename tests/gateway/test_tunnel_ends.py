"""If the connection to the host is lost, its tunnel ends at once, and no other work is delayed."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from gateway.tunnels.tunnel import Forwarder, _carry

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("error", [TimeoutError(110, "timed out"), OSError(113, "no route"), ConnectionResetError()])
def test_an_error_of_the_far_end_ends_the_tunnel(error: OSError) -> None:
    """The error of a connection that has timed out is a TimeoutError, like that of an idle one."""

    async def test() -> None:
        async def write(_data: bytes, **_: bool) -> None:
            return None

        reader = asyncio.StreamReader()
        reader.set_exception(error)
        request = make_mocked_request("CONNECT", "/", writer=SimpleNamespace(write=write))
        near: Any = SimpleNamespace(mark=int)
        writer: Any = SimpleNamespace()
        await _carry(request, near, reader, writer)

    asyncio.run(test())


def test_an_agent_resumed_too_early_is_paused_again_while_the_far_end_reads_nothing() -> None:
    """As at the end of its address's pause."""

    async def test() -> None:
        paused: list[bool] = []
        taken = asyncio.Event()
        near: Any = SimpleNamespace(
            pause_reading=lambda: paused.append(True),
            resume_reading=lambda **_: paused.append(False),
        )
        far = SimpleNamespace(get_write_buffer_size=lambda: 1 << 20)
        writer: Any = SimpleNamespace(write=len, transport=far, drain=taken.wait)
        forwarder = Forwarder(near, writer, lambda _size: 0.0)
        for _ in range(3):
            forwarder.feed_data(b"a")
        assert paused == [True] * 3
        taken.set()
        assert forwarder._draining
        await forwarder._draining
        assert paused == [True] * 3 + [False]

    asyncio.run(test())
