"""A call uses the settings at the time when the provider is asked, not those when its head arrived."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.process import digest
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

BODY = json.dumps({"model": "model-a", "max_tokens": 500, "messages": [{"role": "user", "content": "hello"}]}).encode()


@contextmanager
def half_asked(agent: Agent) -> Iterator[Callable[[], bytes]]:
    """Sends a call except its last byte. Yields a function that sends it and returns the answer's first line."""
    with socket.create_connection(("127.0.0.1", agent.gateway.port), 30, (agent.address, 0)) as connection:
        head = f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {agent.virtual_key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
        connection.sendall(head.encode() + BODY[:-1])
        # Once another request of this connection's address is answered, the gateway waits for the body of this one.
        assert agent.ask("GET", "/llm/v1/models", headers=agent.login).status == 200

        def send_rest() -> bytes:
            connection.sendall(BODY[-1:])
            with connection.makefile("rb") as lines:
                return lines.readline().split(b" ")[1]

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
