"""The real key does not reach an agent, however an upstream writes it into its answer."""

import pytest

from tests.fakes.messages import Answer as FakeAnswer
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("query", ["", "?", "?limit=1", "?order=a&limit=1", "?unknown=1"])
@pytest.mark.parametrize("path", ["key", "auth/key"])
def test_facts_about_a_key_lose_the_part_of_it_that_they_quote(
    alice: Agent, provider: StreamingProvider, path: str, query: str
) -> None:
    alice.gateway.apply(alice.entry(kind="openrouter"))
    label = f"sk-or-v1-{alice.key[3:18]}...{alice.key[-3:]}"
    provider.answer_with = FakeAnswer.json(200, {"data": {"label": label, "usage": 1}})
    answer = alice.ask("GET", f"/llm/v1/{path}{query}", headers=alice.login)
    assert (answer.status, answer.json()["data"]["usage"]) == (200, 1)
    assert b"CANARY" not in answer.body
