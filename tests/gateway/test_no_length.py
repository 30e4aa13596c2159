"""An answer may be requested to have no length: to fill a cache (Anthropic), or to score a text (OpenAI)."""

from typing import Any

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("budget", [{}, {"day_tokens": 10**6}, {"day_money": 10**9}], ids=["none", "tokens", "money"])
@pytest.mark.parametrize(
    ("kind", "path", "fields", "least"),
    [
        ("anthropic", "messages", {}, 0),
        ("openai", "completions", {"prompt": "a", "echo": True, "logprobs": 1}, 0),
        ("compatible", "chat/completions", {}, 1),
    ],
)
def test_an_answer_may_be_requested_to_have_no_length(
    alice: Agent, provider: StreamingProvider, kind: str, path: str, fields: dict[str, Any], least: int,
    budget: dict[str, int],
) -> None:  # fmt: skip
    alice.gateway.apply(alice.entry(kind=kind, budget=budget, prices={"model-a": {"input": 1, "output": 1}}))
    assert alice.chat(path=path, max_tokens=0, **fields).status == 200
    assert provider.sales[-1].body["max_tokens"] == (least if budget else 0)
    assert alice.settled()["output"] == (least if budget else 0)
    assert alice.chat(path=path, max_tokens=-1, **fields).status == 400
