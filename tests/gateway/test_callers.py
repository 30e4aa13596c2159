"""Who may use a virtual credential, and how everyone else is refused. The upstream is never called for them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent, Answer
from tests.gateway.conftest import new_agent
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

ASK: dict[str, Callable[[Agent, str | None], Answer]] = {
    "provider": lambda agent, address: agent.ask(
        "POST", "/llm/v1/chat/completions", {"model": "m", "messages": []}, headers=agent.login, address=address
    ),
    "telegram": lambda agent, address: agent.ask("GET", f"/tg/bot1:{agent.virtual_token}/getMe", address=address),
    "file": lambda agent, address: agent.ask("GET", f"/tg/file/bot1:{agent.virtual_token}/a/b.jpg", address=address),
}


@pytest.fixture(params=ASK)
def ask(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    return lambda agent, address=None: ASK[request.param](agent, address)


@pytest.fixture
def untouched(telegram: FakeTelegram, provider: StreamingProvider) -> Callable[[], bool]:
    return lambda: not telegram.requests and not provider.requests


def astray(agent: Agent) -> tuple[int, str | None]:
    seen = agent.gateway.ask("truth")["seen"].get(agent.project, {})
    return seen.get("astray", 0), seen.get("astray_from")


def test_a_credential_counts_only_from_its_own_address(
    alice: Agent, bob: Agent, ask: Callable[..., Answer], untouched: Callable[[], bool]
) -> None:
    assert ask(alice, bob.address).status == 401
    assert astray(alice) == (0, None), "Bob has stolen it, which says nothing of Alice's agent."
    answer = ask(alice, "127.0.0.1")
    assert (answer.status, answer.headers["retry-after"], answer.headers["connection"]) == (503, "1", "close")
    assert b"an address that is not its own" in answer.body
    assert astray(alice) == (1, "127.0.0.1")
    assert untouched()


def test_a_credential_stays_bound_while_its_agent_is_active(
    alice: Agent, bob: Agent, ask: Callable[..., Answer], telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    """Connections from before a rule that changes addresses keep theirs: an agent polls on one, and uses others for
    more.
    """
    assert ask(alice).status in (200, 404)
    before = len(telegram.requests), len(provider.requests)
    answer = ask(alice, "127.0.0.1")
    assert (answer.status, answer.headers["retry-after"], answer.headers["connection"]) == (503, "1", "close")
    assert astray(alice) == (1, "127.0.0.1")
    assert ask(alice, bob.address).status == 401
    assert (len(telegram.requests), len(provider.requests)) == before
    alice.gateway.apply(void=(alice.project,))
    assert ask(alice, "127.0.0.1").status == 401


def test_without_an_address_the_credential_alone_counts(alice: Agent, ask: Callable[..., Answer]) -> None:
    alice.gateway.apply(alice.entry(address=None))
    assert ask(alice, "127.0.0.1").status in (200, 404)  # the fake Telegram keeps no files


def test_a_void_credential_is_refused_at_once(
    alice: Agent, ask: Callable[..., Answer], untouched: Callable[[], bool]
) -> None:
    alice.gateway.apply(void=(alice.project,))
    assert ask(alice).status == 401
    assert untouched()


def test_a_credential_that_was_replaced_is_refused_at_once(
    alice: Agent, ask: Callable[..., Answer], untouched: Callable[[], bool]
) -> None:
    old = alice.virtual_key, alice.virtual_token
    alice.virtual_key, alice.virtual_token = f"bvk_another{alice.project}", f"another{alice.project}"
    alice.gateway.apply(alice.entry())
    assert ask(alice).status in (200, 404)
    alice.virtual_key, alice.virtual_token = old
    assert ask(alice).status == 401


def test_an_unknown_credential_is_asked_to_retry(
    alice: Agent, ask: Callable[..., Answer], untouched: Callable[[], bool]
) -> None:
    alice.virtual_key, alice.virtual_token = "bvk_unknown", "unknown"
    answer = ask(alice)
    assert answer.status == 503
    assert answer.headers["retry-after"] == "1"
    assert untouched()


def test_an_unknown_credential_is_refused_after_a_while(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    own_gateway.env["GATEWAY_GRACE"] = "0.2"
    agent = new_agent(own_gateway.start(), telegram, provider)
    agent.virtual_key, agent.virtual_token = "bvk_unknown", "unknown"
    for name, shape in (("provider", "invalid_api_key"), ("telegram", "Unauthorized")):
        began = time.monotonic()
        answer = wait_until(partial(_refused, ASK[name], agent))
        assert time.monotonic() - began >= 0.2
        assert shape.encode() in answer.body


def _refused(ask: Callable[[Agent, str | None], Answer], agent: Agent) -> Answer | None:
    answer = ask(agent, None)
    return answer if answer.status == 401 else None


def test_the_key_of_the_provider_does_not_open_telegram_and_the_other_way_round(
    alice: Agent, untouched: Callable[[], bool]
) -> None:
    assert alice.ask("GET", f"/tg/bot1:{alice.virtual_key}/getMe").status == 401
    assert alice.ask("GET", "/llm/v1/models", headers={"x-api-key": alice.virtual_token}).status == 401
    assert untouched()


def test_real_credentials_open_nothing(alice: Agent, untouched: Callable[[], bool]) -> None:
    assert alice.ask("GET", f"/tg/bot{alice.token}/getMe").status == 503
    assert alice.ask("GET", "/llm/v1/models", headers={"x-api-key": alice.key}).status == 503
    assert untouched()


def test_two_credentials_in_one_request_are_refused(alice: Agent, untouched: Callable[[], bool]) -> None:
    both = {**alice.login, "x-api-key": alice.virtual_key}
    assert alice.ask("GET", "/llm/v1/models", headers=both).status == 401
    assert untouched()


def test_applied_entries_survive_the_loss_of_the_process(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, tmp_path: Path
) -> None:
    own_gateway.start()
    agent, other = (new_agent(own_gateway, telegram, provider) for _ in range(2))
    own_gateway.apply(void=(other.project,))
    own_gateway.kill()
    own_gateway.start()
    assert agent.bot("getMe").status == 200
    assert other.bot("getMe").status == 401
    versions = own_gateway.ask("versions")["versions"]
    assert versions[other.project] == {"version": 3, "void": True}
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert b"CANARY" not in file.read_bytes(), file.name


def test_if_the_engine_assigns_addresses_the_first_user_of_a_credential_is_bound(
    alice: Agent, bob: Agent, ask: Callable[..., Answer], telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    """Another address is asked to retry, and never refused permanently: it may be the agent's next container."""
    alice.gateway.apply(alice.entry(assigned=True, address=None))
    poll = threads.submit(alice.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(alice.token)
    asked = len(telegram.requests)
    assert ask(alice, bob.address).status == 503
    assert len(telegram.requests) == asked
    assert ask(alice).status in (200, 404)
    assert b" 503 " in alice.send(b"CONNECT example.org:443 HTTP/1.1\r\nHost: e\r\n\r\n", hangs_up_after=0.1)
    alice.gateway.apply(void=(alice.project,))
    with suppress(HTTPException, ConnectionError):
        poll.result(PATIENCE)
    alice.gateway.apply(alice.entry(assigned=True, address=None))
    assert ask(alice, bob.address).status in (200, 404)


def test_an_address_given_by_the_service_is_the_only_valid_one(
    alice: Agent, bob: Agent, ask: Callable[..., Answer], untouched: Callable[[], bool]
) -> None:
    alice.gateway.apply(alice.entry(assigned=True, address=bob.address))
    assert ask(alice).status == 503
    assert untouched()
