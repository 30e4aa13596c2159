"""A far end that is lost ends its tunnel at once, and keeps nobody waiting."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.tunnels.tunnel import _carry

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("error", [TimeoutError(110, "timed out"), OSError(113, "no route"), ConnectionResetError()])
def test_an_error_of_the_far_end_ends_the_tunnel(error: OSError) -> None:
    """The error of a connection that has timed out is a TimeoutError, as that of one that is idle."""

    async def test() -> None:
        async def write(_data: bytes) -> None:
            return None

        reader = asyncio.StreamReader()
        reader.set_exception(error)
        request: Any = SimpleNamespace(writer=SimpleNamespace(write=write), protocol=SimpleNamespace(set_parser=id))
        near: Any = SimpleNamespace()
        writer: Any = SimpleNamespace()
        await _carry(request, near, reader, writer)

    asyncio.run(test())
