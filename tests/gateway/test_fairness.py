"""No agent slows down the others, and output that an agent does not read is still counted."""

import gzip
import json
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from gateway.entries.entry import Entry
from gateway.rules.allowlist import REQUEST_HEADERS, request_headers
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.throttle import ADDRESSES, BURST, LONGEST, Throttle

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.junk import VALUES

pytestmark = pytest.mark.one_database


class Now:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_only_the_address_that_sends_too_fast_waits() -> None:
    now = Now()
    throttle = Throttle(64, now)
    waits = [throttle.wait_for("a") for _ in range(5000)]
    assert set(waits[: int(64 * BURST)]) == {0}
    assert waits[int(64 * BURST) + 64] > 0.9
    assert max(waits) <= LONGEST
    assert throttle.wait_for("b") == 0
    now.seconds += LONGEST + BURST
    assert [throttle.wait_for("a") for _ in range(int(64 * BURST))] == [0] * int(64 * BURST)
    for number in range(2 * ADDRESSES):
        throttle.wait_for(str(number))
    assert len(throttle._next) == ADDRESSES


def test_only_the_sender_of_slow_requests_is_asked_to_retry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, processor = Now(), Now()
    monkeypatch.setattr("gateway.rules.rates.time.thread_time", processor)
    rates = Rates(now)
    alice, bob = Entry("alice"), Entry("bob")
    taken = 0.0
    for _ in range(1000):
        with suppress(RefusedError), rates.count(alice), rates.reading(alice):
            processor.seconds += 0.2
            taken += 0.2
        now.seconds += 0.1
    assert taken <= 0.25 + 0.2 + 100 * 0.05
    processor.seconds += 1
    with rates.reading(alice):
        processor.seconds += 2
    with pytest.raises(RefusedError) as refused:
        rates.count(alice).__enter__()
    assert refused.value.why is Why.RATE
    with rates.count(bob):
        pass


@pytest.mark.parametrize("name", sorted(REQUEST_HEADERS))
def test_a_header_that_cannot_be_forwarded_is_dropped(name: str) -> None:
    for what, value in VALUES.items():
        if isinstance(value, str):
            passed = request_headers([(name, value)], {})
            assert all(each.isascii() and each.isprintable() for each in passed.values()), what


def test_a_compressed_body_is_never_unpacked(alice: Agent, provider: StreamingProvider) -> None:
    bomb = gzip.compress(bytes(64 << 20))
    before = memory_of(alice)
    for path in (
        "GET /llm/v1/models",
        "POST /llm/v1/chat/completions",
        f"POST /tg/bot1:{alice.virtual_token}/sendPhoto",
    ):
        head = f"{path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {alice.virtual_key}\r\nContent-Encoding: gzip\r\n"
        alice.send(f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb, hangs_up_after=0.5)
    assert memory_of(alice) - before < 32 << 10


def memory_of(agent: Agent) -> int:
    """Returns the most KiB of memory that the gateway has used."""
    lines = Path(f"/proc/{agent.gateway.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def test_telegram_is_asked_for_uncompressed_answers(alice: Agent, telegram: FakeTelegram) -> None:
    seen: list[str | None] = []
    answer = telegram.answer

    def note(request: object) -> object:
        seen.append(request.headers.get("accept-encoding"))  # type: ignore[attr-defined]  # any request
        return answer(request)  # type: ignore[arg-type]  # as it came

    telegram.answer = note  # type: ignore[method-assign, assignment]  # of this fake alone
    path = f"/tg/bot1:{alice.virtual_token}/getMe"
    assert alice.ask("GET", path, headers={"Accept-Encoding": "gzip"}).status == 200
    assert seen == ["identity"]


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_an_answer_that_the_agent_does_not_read_counts_too(
    alice: Agent, provider: StreamingProvider, path: str
) -> None:
    provider.words = 2000
    body = {"model": "model-a", "messages": [], "input": "", "stream": True, "max_tokens": 3000}
    with socket.create_connection(("127.0.0.1", alice.gateway.port), 30, (alice.address, 0)) as connection:
        text = json.dumps(body).encode()
        head = f"POST /llm/v1/{path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {alice.virtual_key}\r\n"
        connection.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
        assert connection.recv(100)
    costs = alice.settled()
    (sale,) = provider.sales
    assert costs["output"] >= sale.output
