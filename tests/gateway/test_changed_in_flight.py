"""A call uses the settings at the time when its upstream is asked, not those when its head arrived."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.rules.refusals import RefusedError, Why
from gateway.telegram.call import SMALL
from gateway.telegram.polling import NOTHING, poll
from gateway.telegram.polls import Polls

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import digest
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

BODY = json.dumps({"model": "model-a", "max_tokens": 500, "messages": [{"role": "user", "content": "hello"}]}).encode()


@contextmanager
def half_sent(agent: Agent, head: str, body: bytes, late: int = 1) -> Iterator[Callable[[], bytes]]:
    """Sends a request except its last bytes. Yields a function that sends them and returns the answer's status."""
    with socket.create_connection(("127.0.0.1", agent.gateway.port), 30, (agent.address, 0)) as connection:
        connection.sendall(f"POST {head}\r\nHost: a\r\nContent-Type: application/json\r\n".encode() + body[:-late])
        # Once another request of this connection's address is answered, the gateway waits for the body of this one.
        assert agent.ask("GET", "/llm/v1/models", headers=agent.login).status == 200

        def send_rest() -> bytes:
            connection.sendall(body[-late:])
            with connection.makefile("rb") as lines:
                return lines.readline().split(b" ")[1]

        yield send_rest


def measured(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def chunked(body: bytes) -> bytes:
    return b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@contextmanager
def half_asked(agent: Agent) -> Iterator[Callable[[], bytes]]:
    head = f"/llm/v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer {agent.virtual_key}"
    with half_sent(agent, head, measured(BODY)) as send_rest:
        yield send_rest


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"budget": {"day_tokens": 50}}, b"413"),
        ({"models": ["other"]}, b"404"),
        ({"budget": {"day_tokens": 0}}, b"429"),
    ],
)
def test_a_limit_set_while_a_request_comes_counts_for_it(
    alice: Agent, provider: StreamingProvider, change: dict[str, Any], status: bytes
) -> None:
    with half_asked(alice) as send_rest:
        alice.gateway.apply(alice.entry(**change))
        assert send_rest() == status
    assert not provider.sales


def test_a_key_set_while_a_request_comes_is_used_for_it(alice: Agent, provider: StreamingProvider) -> None:
    with half_asked(alice) as send_rest:
        alice.key = "sk-CANARYkeyCANARYkeyCANARYkeyNEW"
        alice.gateway.apply(alice.entry())
        assert send_rest() == b"200"
    assert [sale.key for sale in provider.sales] == [alice.key]


def test_a_virtual_key_that_was_replaced_while_a_request_came_is_refused(
    alice: Agent, provider: StreamingProvider
) -> None:
    with half_asked(alice) as send_rest:
        entry = alice.entry()
        entry["provider"] |= {"virtual": digest("bvk_another")}
        alice.gateway.apply(entry)
        assert send_rest() == b"401"
    assert not provider.sales


MESSAGE = b'{"chat_id":5,"text":"hello"}'
UPLOAD = b'{"chat_id":5,"text":"%b"}' % (b"x" * 2 * SMALL)
TO_TELEGRAM = [
    pytest.param("sendMessage", measured(MESSAGE), 1, id="message"),
    pytest.param("sendMessage", chunked(MESSAGE), 1, id="message in a chunk"),
    pytest.param("getUpdates", measured(b'{"timeout":0}'), 1, id="poll"),
    pytest.param("getUpdates", chunked(b'{"timeout":0}'), 1, id="poll in a chunk"),
    pytest.param("sendMessage", measured(UPLOAD), len(UPLOAD) - SMALL, id="start of an upload"),
]


@contextmanager
def half_called(agent: Agent, method: str, body: bytes, late: int) -> Iterator[Callable[[], bytes]]:
    with half_sent(agent, f"/tg/bot1:{agent.virtual_token}/{method} HTTP/1.1", body, late) as send_rest:
        yield send_rest


@pytest.mark.parametrize(("method", "body", "late"), TO_TELEGRAM)
def test_a_token_set_while_a_request_comes_is_used_for_it(
    alice: Agent, telegram: FakeTelegram, method: str, body: bytes, late: int
) -> None:
    before = alice.token
    with half_called(alice, method, body, late) as send_rest:
        alice.token = "799999999:CANARYnewCANARYnewCANARYnew"
        telegram.add_bot(alice.token)
        telegram.say(alice.token, 5, "hello")
        alice.gateway.apply(alice.entry())
        assert send_rest() == (b"400" if len(body) > SMALL else b"200")  # the fake refuses a text of this length
    assert not telegram.calls(before)
    assert [call.method for call in telegram.calls(alice.token)] == [method.lower()]


@pytest.mark.parametrize(("method", "body", "late"), [*TO_TELEGRAM, ("deleteWebhook", measured(b"{}"), 1)])
def test_a_virtual_token_that_was_replaced_while_a_request_came_is_refused(
    alice: Agent, telegram: FakeTelegram, method: str, body: bytes, late: int
) -> None:
    with half_called(alice, method, body, late) as send_rest:
        entry = alice.entry()
        entry["telegram"] |= {"virtual": digest(f"another of {alice.project}")}
        alice.gateway.apply(entry)
        assert send_rest() == b"401"
    assert not telegram.calls(alice.token)


def test_a_poll_that_is_over_before_its_turn_does_not_ask_telegram() -> None:
    """It waits until the poll before it has ended. Meanwhile its token may have become void."""

    async def ask(_answered: asyncio.Event) -> web.StreamResponse:
        pytest.fail("Telegram was asked.")

    async def scene() -> None:
        polls = Polls()
        async with polls.take("bot", "alice"):
            waiting = asyncio.ensure_future(poll(polls, "bot", "alice", ask))
            await asyncio.sleep(0)
            polls.end_of("alice")
        assert (await waiting).body == NOTHING  # type: ignore[attr-defined]  # it is a Response

    asyncio.run(scene())


def limited(tokens: int | None) -> Entry:
    return Entry("p", budget=Budget(day_tokens=tokens))


@pytest.mark.parametrize("raised", [200, None])
def test_a_raised_budget_gives_a_waiting_call_room_at_once(tmp_path: Path, raised: int | None) -> None:
    async def test(ledger: Ledger) -> None:
        await ledger.reserve(limited(100), "m", input_tokens=0, min_output=100, max_output=100)
        waiting = asyncio.ensure_future(ledger.reserve(limited(100), "m", input_tokens=0, min_output=80, max_output=80))
        await asyncio.sleep(0)
        ledger.change("p", limited(raised))
        assert (await waiting).output == 80

    run(tmp_path, Clock(2026, 11, 22), test)


def test_a_lowered_budget_has_no_room_for_a_call_that_waits_nor_for_a_longer_answer(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        first = await ledger.reserve(limited(100), "m", input_tokens=0, min_output=60, max_output=60)
        waiting = asyncio.ensure_future(ledger.reserve(limited(100), "m", input_tokens=0, min_output=80, max_output=80))
        await asyncio.sleep(0)
        ledger.change("p", limited(70))
        with pytest.raises(RefusedError) as refused:
            await waiting
        assert refused.value.why is Why.TOO_LARGE
        longer = ledger.extend(first, limited(100), by=40)
        assert longer.output == 70
        ledger.settle(longer, Usage(0, 60), entry=limited(100))
        ledger.change("p", None)
        assert (await ledger.reserve(limited(100), "m", input_tokens=0, min_output=40, max_output=40)).output == 40

    run(tmp_path, Clock(2026, 11, 22), test)
