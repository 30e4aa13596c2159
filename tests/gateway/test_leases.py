"""Entries that are valid only during a lease: a node that is cut off stops, and no old message makes it start again."""

import http.client
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from containers.gateway.entries import Entry
from containers.gateway.leases import LEASE
from containers.gateway.protocol import GatewayClient
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent, Answer
from tests.gateway.conftest import new_agent
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.socket_transport import SocketTransport
from tests.gateway.test_callers import ASK
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
SHORT = 0.6
"""Seconds of a lease whose end a test waits for."""


def renew(agent: Agent, seconds: float = LEASE, **changes: Any) -> list[str]:
    """Reads the clock, then asks for a lease of this many seconds. Returns the projects that have one."""
    clock = agent.gateway.ask("ping")
    lease = {"epoch": clock["epoch"], "until": clock["clock"] + seconds} | changes
    answer = agent.gateway.ask("renew", versions={agent.project: agent.gateway.version}, lease=lease)
    assert answer["ok"], answer
    return list(answer["renewed"])


def ask_tunnel(agent: Agent, _address: str | None) -> Answer:
    came = agent.send(b"CONNECT example.org:443 HTTP/1.1\r\nHost: e\r\n\r\n", hangs_up_after=0.1)
    return Answer(int(came.split()[1]), {}, b"")


WAYS = {**ASK, "tunnel": ask_tunnel}


@pytest.fixture
def leased(alice: Agent) -> Agent:
    """It has no lease yet."""
    alice.gateway.apply(alice.entry(leased=True))
    return alice


@pytest.mark.parametrize("way", WAYS)
def test_without_a_lease_every_call_is_asked_to_retry(
    leased: Agent, way: str, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    assert WAYS[way](leased, None).status == 503
    assert not telegram.requests
    assert not provider.requests


def test_with_a_lease_an_agent_is_served_until_the_lease_ends(leased: Agent, telegram: FakeTelegram) -> None:
    """A long poll ends with an empty result, well before Telegram would end it."""
    assert renew(leased, SHORT) == [leased.project]
    assert leased.bot("getUpdates", timeout=50).json() == {"ok": True, "result": []}
    refused = leased.bot("getUpdates", timeout=50)
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    wait_until(lambda: telegram.polls(leased.token).open == 0, within=PATIENCE)
    assert telegram.polls(leased.token).count == 1
    assert leased.chat().status == 503
    assert renew(leased) == [leased.project]
    assert leased.bot("getMe").status == leased.chat().status == 200


def test_a_lease_that_is_renewed_ends_nothing(
    leased: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    renew(leased, SHORT)
    poll = threads.submit(leased.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(leased.token)
    before = leased.gateway.ask("ping")["clock"]
    renew(leased)
    wait_until(lambda: leased.gateway.ask("ping")["clock"] > before + SHORT + 0.3, within=PATIENCE)
    assert not poll.done()
    telegram.say(leased.token, 5, "hello")
    assert poll.result(PATIENCE).json()["result"]


def test_a_call_cut_by_the_end_of_a_lease_counts_and_nothing_stays_reserved(
    leased: Agent, provider: StreamingProvider, threads: ThreadPoolExecutor
) -> None:
    most = 2000
    leased.gateway.apply(leased.entry(leased=True, budget={"day_tokens": most}))
    renew(leased, SHORT)
    provider.gate.clear()
    call = threads.submit(leased.chat, stream=True, max_tokens=1000)
    with suppress(http.client.IncompleteRead, ConnectionError):
        call.result(PATIENCE)
    provider.gate.set()
    costs = leased.settled()
    spent = costs["input"] + costs["output"]
    assert provider.sold() == spent < most
    renew(leased)
    assert leased.chat(max_tokens=most - spent - 200).status == 200, "What was reserved for the call is free again."
    costs = leased.settled(2)
    assert costs["input"] + costs["output"] == provider.sold()


REFUSED: dict[str, Callable[[Agent], list[str]]] = {
    "too late": lambda agent: renew(agent, -1.0),
    "of another process": lambda agent: renew(agent, epoch="0" * 16),
    "no moment": lambda agent: renew(agent, until=float("nan")),
    "of an older version": lambda agent: _renew_after(agent, agent.gateway.apply),
    "void": lambda agent: _renew_after(agent, lambda _: agent.gateway.apply(void=(agent.project,))),
}


def _renew_after(agent: Agent, change: Callable[[dict[str, Any]], object]) -> list[str]:
    """The message for a lease was on its way while another change was sent."""
    version = agent.gateway.version
    change(agent.entry(leased=True))
    clock = agent.gateway.ask("ping")
    lease = {"epoch": clock["epoch"], "until": clock["clock"] + LEASE}
    return list(agent.gateway.ask("renew", versions={agent.project: version}, lease=lease)["renewed"])


@pytest.mark.parametrize("word", REFUSED)
def test_an_outdated_message_grants_no_lease(leased: Agent, word: str) -> None:
    assert REFUSED[word](leased) == []
    assert leased.bot("getMe").status in (401, 503)


def test_an_entry_that_starts_to_need_a_lease_ends_its_calls_in_flight(
    alice: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    poll = threads.submit(alice.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(alice.token)
    alice.gateway.apply(alice.entry(leased=True))
    with suppress(http.client.HTTPException, ConnectionError):
        assert poll.result(PATIENCE).json()["result"] == []
    assert alice.bot("getMe").status == 503


@pytest.mark.rare(3)
def test_after_a_kill_no_lease_holds(own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> None:
    agent = new_agent(own_gateway.start(), telegram, provider)
    own_gateway.apply(agent.entry(leased=True))
    clock = own_gateway.ask("ping")
    assert renew(agent) == [agent.project]
    own_gateway.kill()
    own_gateway.start()
    assert renew(agent, epoch=clock["epoch"]) == []
    assert agent.bot("getMe").status == 503
    assert renew(agent) == [agent.project]
    assert agent.bot("getMe").status == 200


def test_the_service_grants_leases(gateway: Gateway) -> None:
    client = GatewayClient(SocketTransport(Path(gateway.env["GATEWAY_SOCKET"])), within=PATIENCE)
    entry = Entry(project="leased", address=None, leased=True)
    assert client.apply(version=1, entries=[entry], lease=client.read_clock().lease()) == {"leased": 1}
    assert client.renew({"leased": 1, "nobody": 1}, client.read_clock().lease()) == {"leased"}
    client.apply(version=2, void=["leased"])
    assert client.renew({"leased": 2}, client.read_clock().lease()) == set()
