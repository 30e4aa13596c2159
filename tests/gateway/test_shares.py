"""Passing data on unchanged, and opening and closing connections, use no more than a share of the processor."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.config import SHARE
from gateway.entries.entry import Bot, Entry, Limits
from gateway.pipes.agent_connection import SECONDS_PER_REQUEST
from gateway.pipes.guard import GuardedServer
from gateway.rules.cpu_share import BURST as BURST_OF_SHARE
from gateway.rules.cpu_share import REMEMBERED, CpuShare
from gateway.rules.paths import TelegramPath
from gateway.rules.rates import READING_SHARE, SECONDS_TO_PASS_A_BYTE, Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.throttle import BURST, LONGEST, Throttle
from gateway.telegram.call import LARGEST_UPLOAD, SMALL, TelegramCalls
from gateway.telegram.telegram_request import TelegramRequest

from containers.docker_api.building.image_build import GATEWAY
from tests.gateway.test_fairness import Now

pytestmark = pytest.mark.one_database
PIECE = bytes(1 << 20)


def upload(calls: TelegramCalls, entry: Entry, size: int) -> int:
    """Returns the number of bytes that get through. Raises RefusedError."""
    left = [PIECE] * (size // len(PIECE))

    async def readany() -> bytes:
        return left.pop() if left else b""

    http: Any = SimpleNamespace(
        body_exists=True, headers={}, content_length=size, content=SimpleNamespace(readany=readany)
    )
    path = TelegramPath("virtual", is_file=False, rest="sendDocument", query="")
    request = TelegramRequest(http, entry, Bot("", "1:token", ""), path, find=lambda: pytest.fail("It is not sent."))

    async def read() -> int:
        body = await calls._body(request)
        assert isinstance(body, AsyncIterator)
        return sum([len(piece) async for piece in body])

    return asyncio.run(read())


def test_only_the_endless_uploader_is_slowed_down() -> None:
    now: Any = Now()
    nothing: Any = None
    calls = TelegramCalls(nothing, nothing, nothing, nothing, Rates(now))
    alice, bob = Entry("alice"), Entry("bob")
    passed = 0
    for _ in range(100):
        with suppress(RefusedError):
            passed += upload(calls, alice, 48 << 20)
        now.seconds += 0.1
    with suppress(RefusedError):
        upload(calls, alice, 48 << 20)
    with pytest.raises(RefusedError) as refused:
        upload(calls, alice, 48 << 20)
    assert (refused.value.why, bool(refused.value.retry_after)) == (Why.RATE, True)
    seconds = 100 * 0.1
    assert (
        passed * SECONDS_TO_PASS_A_BYTE
        <= READING_SHARE * (BURST_OF_SHARE + seconds) + LARGEST_UPLOAD * SECONDS_TO_PASS_A_BYTE
    )
    assert passed > 0
    assert upload(calls, bob, 48 << 20) == 48 << 20
    assert len(PIECE) > SMALL


class Transport:
    def __init__(self, address: str) -> None:
        self.address = address
        self.is_cut = False

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return (self.address, 1)

    def abort(self) -> None:
        self.is_cut = True


def test_only_the_connections_of_an_address_that_opens_too_many_are_cut() -> None:
    now: Any = Now()

    async def handle(_request: Any) -> Any:
        raise AssertionError

    def opened(server: GuardedServer, address: str) -> bool:
        handler = server()
        transport: Any = Transport(address)
        server.connection_made(handler, transport)
        server.connection_lost(handler)
        return not transport.is_cut

    async def flood() -> None:
        blocked: set[str] = set()
        server = GuardedServer(
            handle,
            most=128,
            throttle=Throttle(64, now),
            block=lambda address, _seconds: blocked.add(address),
            share=CpuShare(0.03, now),
        )
        let_in = 0
        for _ in range(10_000):  # a thousand in a second
            now.seconds += 0.001
            let_in += opened(server, "a")
        assert 64 * BURST <= let_in <= 64 * (10 + BURST + 1) + 1
        assert opened(server, "b")
        now.seconds += LONGEST  # those that were cut count too, up to this
        assert opened(server, "a")
        assert blocked == {"a"}

    asyncio.run(flood())


def test_a_share_holds_over_time_and_belongs_to_one_address() -> None:
    now = Now()
    share = CpuShare(0.05, now)
    taken = 0.0
    for _ in range(1000):
        if not share.wait_for("a"):
            share.take("a", 0.01)
            taken += 0.01
        now.seconds += 0.1
    assert 0.05 * 100 <= taken <= 0.05 * (100 + BURST_OF_SHARE) + 0.011
    assert share.take("b", 0.001) == 0
    for number in range(2 * REMEMBERED):
        share.take(str(number), 0.001)
    assert len(share._busy_until) == REMEMBERED


def test_an_address_gets_the_rate_of_requests_that_the_readme_promises() -> None:
    now = Now()
    share = CpuShare(SHARE, now)
    now.seconds, answered = 1000.0, []
    for _ in range(60):
        until, count = now.seconds + 1, 0
        while now.seconds < until:
            if share.wait_for("a"):
                now.seconds += 0.001
            else:
                share.take("a", SECONDS_PER_REQUEST)
                count += 1
        answered.append(count)
    steady = round(sum(answered[10:]) / 50)
    burst = round(answered[0] - steady, -1)
    (row,) = [line for line in (GATEWAY.folder / "README.md").read_text().splitlines() if line.startswith("| requests")]
    assert f"{burst} at once, and then up to {steady} a second" in row


def test_answers_above_the_rate_of_a_project_arrive_in_larger_pieces() -> None:
    now: Any = Now()
    rates = Rates(now)
    alice, bob = Entry("alice"), Entry("bob")
    waited = sum(rates.pay(alice, 100) for _ in range(20_000))
    assert waited > 0
    assert rates.pay(bob, 100) == 0
    with rates.count(alice):
        pass  # only its answers wait: its next call is not refused


@pytest.mark.parametrize("part", [0.0, 0.2, 0.499, 0.5, 0.501, 0.999])
def test_an_agent_that_waits_as_long_as_told_is_let_in(part: float) -> None:
    """Wherever in a second it was refused."""
    now = Now()
    rates, entry = Rates(now), Entry("alice", limits=Limits(requests=3))
    for _ in range(3):
        with rates.count(entry):
            now.seconds += 0.1
    now.seconds += 5 + part
    with pytest.raises(RefusedError) as refused:
        rates.count(entry).__enter__()
    assert refused.value.retry_after is not None
    now.seconds += refused.value.retry_after
    with rates.count(entry):
        pass
    rates._reading.take(entry.project, 5 * READING_SHARE + (1 + part) * READING_SHARE)
    with pytest.raises(RefusedError) as refused:
        rates.check_share(entry)
    assert refused.value.retry_after is not None
    now.seconds += refused.value.retry_after
    rates.check_share(entry)
