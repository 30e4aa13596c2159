"""A budget is never overspent, not even by parallel calls, interrupted streams or a kill."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.conftest import new_agent
from tests.gateway.long.scenes import kill_in_traffic
from tests.gateway.process import Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

LIMIT = 1000


def limit(agent: Agent, **budget: int) -> None:
    agent.gateway.apply(agent.entry(budget=budget or {"day_tokens": LIMIT}))


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_parallel_streams_stay_below_the_budget(alice: Agent, provider: StreamingProvider, path: str) -> None:
    limit(alice)
    provider.words = 120

    def ask(number: int) -> int:
        return alice.chat(f"question {number}", path=path, stream=True, input="", max_tokens=100).status

    with ThreadPoolExecutor(20) as threads:
        statuses = list(threads.map(ask, range(20)))
    assert statuses.count(200) >= 3
    assert set(statuses) <= {200, 400, 413, 429}
    assert provider.sold() <= LIMIT
    costs = alice.settled(statuses.count(200))
    assert costs["input"] + costs["output"] == provider.sold()


def test_at_the_limit_the_agent_gets_the_provider_s_own_quota_error(alice: Agent, provider: StreamingProvider) -> None:
    cases = {"openai": (429, "insufficient_quota"), "anthropic": (400, "credit balance is too low"),
             "openrouter": (402, "Insufficient credits")}  # fmt: skip
    for kind, (status, words) in cases.items():
        alice.gateway.apply(alice.entry(kind=kind, budget={"month_tokens": 0}))
        answer = alice.chat(path="messages" if kind == "anthropic" else "chat/completions")
        assert answer.status == status
        assert words in answer.body.decode()
        assert "it resets on 1 " in answer.body.decode()
        assert answer.headers["x-berth-budget"] == "month"
    assert not provider.requests
    assert wait_until(alice.budget_reached) == "month"


@pytest.mark.parametrize(
    ("kind", "given", "name"),
    [
        ("openai", {}, "max_completion_tokens"),
        ("openai", {"max_tokens": 9000}, "max_tokens"),
        ("compatible", {}, "max_tokens"),
        ("compatible", {"max_completion_tokens": 9000, "max_tokens": 8000}, "max_completion_tokens"),
    ],
)
def test_an_answer_is_no_longer_than_the_budget_allows(
    alice: Agent, provider: StreamingProvider, kind: str, given: dict[str, Any], name: str
) -> None:
    alice.gateway.apply(alice.entry(kind=kind, budget={"day_tokens": LIMIT}))
    assert alice.chat("hello", **given).status == 200
    body = provider.sales[0].body
    assert 0 < body[name] < LIMIT
    assert all(body[each] < LIMIT for each in given)


@pytest.mark.parametrize(
    ("path", "thoughts"),
    [
        ("messages", {"thinking": {"type": "enabled", "budget_tokens": 800}}),
        ("chat/completions", {"reasoning": {"max_tokens": 800}}),
    ],
)
def test_an_answer_is_never_capped_below_its_thinking_budget(
    alice: Agent, provider: StreamingProvider, path: str, thoughts: dict[str, Any]
) -> None:
    for budget, status in ((2 * LIMIT, 200), (LIMIT, 413)):
        limit(alice, day_tokens=budget)
        answer = alice.chat("a" * 150, path=path, max_tokens=4096, **thoughts)
        assert answer.status == status, answer.body
    (sale,) = provider.sales
    assert 800 < sale.body["max_tokens"] < 2 * LIMIT


def test_choices_count_one_by_one(alice: Agent, provider: StreamingProvider) -> None:
    limit(alice)
    assert alice.chat("hello", n=4, max_tokens=200).status == 200
    assert provider.sales[0].body["max_tokens"] * 4 < LIMIT


@pytest.mark.parametrize(
    "extra",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"previous_response_id": "r"},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]}
            ]
        },
        {"messages": [{"role": "user", "content": "x" * LIMIT}]},
    ],
    ids=["tools", "stored", "file", "picture", "text"],
)
def test_a_call_larger_than_the_whole_budget_is_refused_without_reaching_the_budget(
    alice: Agent, provider: StreamingProvider, extra: dict[str, Any]
) -> None:
    limit(alice)
    answer = alice.chat(**extra)
    assert (answer.status, answer.json()["error"]["type"]) == (413, "invalid_request_error")
    assert "more than the whole budget of this agent for a day" in answer.body.decode()
    assert not provider.requests
    assert not alice.gateway.ask("truth")["seen"].get(alice.project)


def test_a_pdf_is_answered_on_a_small_plan(alice: Agent, provider: StreamingProvider) -> None:
    limit(alice, day_tokens=500_000, month_tokens=5_000_000)
    data = base64.b64encode(b"%PDF-1.7" + bytes(400_000)).decode()
    part = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": [part]}], "path": "messages", "max_tokens": 4096}
    assert alice.chat(**asked).status == 200
    limit(alice, day_tokens=100_000)
    answer = alice.chat(**asked)
    assert (answer.status, answer.json()["error"]["type"]) == (413, "request_too_large")


def test_money_counts_for_models_with_a_price(alice: Agent, provider: StreamingProvider) -> None:
    # Ten tokens of an answer cost a thousandth.
    prices = {"model-a": {"input": 0, "output": 100_000_000}}
    alice.gateway.apply(alice.entry(budget={"day_money": 3000}, prices=prices))
    provider.words = 20
    assert [alice.chat(max_tokens=20).status for _ in range(3)] == [200, 429, 429]
    assert alice.settled()["money"] == 2000
    # A third is left. It does not pay for such an answer, but smaller ones continue.
    assert [alice.chat(max_tokens=9).status for _ in range(3)] == [200, 429, 429]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_the_owner_is_notified_when_the_same_question_no_longer_fits(
    alice: Agent, provider: StreamingProvider, kind: str
) -> None:
    """Each call reserves a token per byte and costs a third of that, so much of the budget is left but useless."""
    alice.gateway.apply(alice.entry(kind=kind, budget={"day_tokens": 20_000}))
    path = "messages" if kind == "anthropic" else "chat/completions"
    question, statuses = "word is " * 700, [200]
    while statuses[-1] == 200:
        statuses.append(alice.chat(question, path=path, max_tokens=16).status)
    assert statuses[-1] == (400 if kind == "anthropic" else 429)
    assert provider.sold() < 19_000
    assert wait_until(alice.budget_reached) == "day"


def test_a_kill_in_mid_stream_counts_in_full(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    agent = new_agent(own_gateway.start(), telegram, provider)
    limit(agent)
    provider.gate.clear()
    provider.words = 400
    with agent.connected() as connection:
        body = {"model": "model-a", "messages": [], "stream": True, "max_tokens": 400}
        connection.request("POST", "/llm/v1/chat/completions", json.dumps(body), agent.login)
        assert b"word0" in connection.getresponse().readline()
        own_gateway.kill()
    provider.gate.set()
    own_gateway.start()
    costs = agent.settled()
    assert costs["estimated"] == 1
    assert costs["output"] == 400
    spent = costs["input"] + costs["output"]
    assert spent >= provider.sold()
    assert agent.chat(max_tokens=400).status == 200
    assert provider.sold() <= LIMIT


def test_kills_during_traffic_lose_no_update_and_never_exceed_the_budget(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    """The long run has 50 kills: python -m tests.gateway.long"""
    agent = new_agent(own_gateway.start(), telegram, provider)
    found = kill_in_traffic(own_gateway, telegram, provider, agent, kills=2, seed=1)
    assert found["lost"] == 0
