"""Large requests wait for memory, and their total memory fits into the container."""

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gateway.pipes.memory import PROJECT_LIMIT, SMALL, TOTAL_LIMIT, Memory
from gateway.providers.call import MAX_REQUEST
from gateway.rules.refusals import RefusedError, Why

from containers.gateway.vocabulary import GatewaySpec
from tests.fakes.messages import Answer
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.process import PATIENCE, Gateway

pytestmark = pytest.mark.one_database
MEBIBYTE = 1 << 20
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"


def test_two_of_the_largest_fit_at_once_and_the_third_waits_for_one_of_them() -> None:
    async def test() -> None:
        memory, order = Memory(), []

        async def use(name: str, size: int, ends: asyncio.Event) -> None:
            async with memory.borrow("p", size):
                order.append(name)
                await ends.wait()

        ends = [asyncio.Event() for _ in range(5)]
        sizes = {"one": MAX_REQUEST, "two": MAX_REQUEST, "three": MAX_REQUEST, "four": SMALL + 1, "small": SMALL}
        calls = [
            asyncio.ensure_future(use(name, size, end)) for (name, size), end in zip(sizes.items(), ends, strict=True)
        ]
        await asyncio.sleep(0)
        assert order == ["one", "two", "small"]
        async with memory.borrow("q", MAX_REQUEST):  # another project's
            ends[0].set()
            await calls[0]
            while len(order) < 5:
                await asyncio.sleep(0)
        assert order[3:] == ["three", "four"]  # in turn, so that no large request waits forever
        for end in ends:
            end.set()
        await asyncio.gather(*calls)
        assert not memory._borrowed
        assert not memory._waiting

    asyncio.run(asyncio.wait_for(test(), 60))


def test_a_waiter_that_times_out_or_disconnects_releases_everything() -> None:
    async def test() -> None:
        memory = Memory(patience=0.01)
        async with memory.borrow("p", PROJECT_LIMIT):
            with pytest.raises(RefusedError) as refused:
                async with memory.borrow("p", MAX_REQUEST):
                    raise AssertionError
            assert (refused.value.why, refused.value.retry_after) == (Why.LATER, 2)
            gone = asyncio.ensure_future(memory.borrow("p", MAX_REQUEST).__aenter__())
            await asyncio.sleep(0)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
        async with memory.borrow("p", PROJECT_LIMIT):
            assert not memory._waiting
        assert not memory._borrowed

    asyncio.run(asyncio.wait_for(test(), 60))


def test_large_requests_take_no_more_memory_than_the_container_has(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sends two requests at once.

    Neither body is read before both are admitted, because one request uses the agent's whole share of the processor.
    Neither is answered before both have arrived.
    """
    own_gateway.env["MALLOC_MMAP_THRESHOLD_"] = str(MEBIBYTE)  # return freed memory at once
    agent, both = new_agent(own_gateway.start(), telegram, provider), threading.Barrier(2)
    held: list[int] = []

    def answer(_request: object) -> Answer:
        both.wait(PATIENCE)
        held.append(memory_of(own_gateway.pid, "VmRSS"))
        both.wait(PATIENCE)
        return Answer.json(200, {})

    monkeypatch.setattr(provider, "answer", answer)
    begin = memory_of(own_gateway.pid, "VmHWM")
    data = "data:image/png;base64," + "A" * (MAX_REQUEST - 10_000)
    part = {"type": "image_url", "image_url": {"url": data}}
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": [part]}]}).encode()

    headers = agent.login | {"Content-Length": str(len(body)), "Expect": "100-continue"}

    def ask(_number: int) -> int:
        with agent.connected() as connection:
            connection.putrequest("POST", "/llm/v1/chat/completions")
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            assert connection.sock.recv(len(GO_ON), socket.MSG_WAITALL) == GO_ON
            both.wait(PATIENCE)
            connection.send(body)
            with connection.getresponse() as answer:
                return answer.status

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(ask, range(2))) == [200, 200]
    assert max(held) - begin <= 2.5 * MAX_REQUEST, f"{(max(held) - begin) // MEBIBYTE} MiB"  # each body once
    grown = memory_of(own_gateway.pid, "VmHWM") - begin
    for_a_moment = 4 * MAX_REQUEST  # its text, its values, the written body
    assert grown <= 2 * MAX_REQUEST + for_a_moment, f"{grown // MEBIBYTE} MiB"
    assert begin + TOTAL_LIMIT + for_a_moment < GatewaySpec(key="").memory


def memory_of(pid: int, kind: str) -> int:
    """Returns the process's memory (`VmRSS`) or its peak (`VmHWM`), in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(kind))
