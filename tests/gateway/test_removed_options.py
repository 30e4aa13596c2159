"""Under a budget, options whose cost is unknown are removed from a call, and the answer names them."""

from typing import Any

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_an_answer_names_the_options_that_were_removed_because_of_the_budget(
    alice: Agent, provider: StreamingProvider, path: str, stream: bool
) -> None:
    invented: dict[str, Any] = {"deep_search": True, "data_sources": [], "X-Injected: a\r\nb": 1, "ü": 2, "n" * 65: 3}
    alice.gateway.apply(alice.entry(kind="anthropic" if path == "messages" else "openai", budget={"day_tokens": 1000}))
    answer = alice.chat(path=path, stream=stream, max_tokens=10, input="", temperature=0, **invented)
    assert answer.status == 200
    assert answer.headers["x-berth-removed-options"] == "data_sources, deep_search"
    assert not invented.keys() & provider.sales[-1].body.keys()
    assert "x-injected" not in answer.headers


def test_no_option_is_removed_without_a_budget(alice: Agent, provider: StreamingProvider) -> None:
    answer = alice.chat(deep_search=True)
    assert "x-berth-removed-options" not in answer.headers
    assert provider.sales[-1].body["deep_search"] is True


SURCHARGES: dict[str, Any] = {
    "service_tier": "priority", "speed": "fast", "inference_geo": "us", "betas": ["a"], "anthropic_beta": ["a"],
    "prediction": {"type": "content", "content": "x"}, "provider": {"sort": "throughput", "only": ["a"], "zdr": True},
    "fallbacks": [{"model": "model-a", "speed": "fast"}],
}  # fmt: skip
NAMED = (
    "fallbacks.speed, service_tier, speed, inference_geo, prediction, betas, anthropic_beta, provider.only, "
    "provider.sort"
)


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_an_answer_names_the_options_that_were_removed_because_they_raise_the_price(
    alice: Agent, provider: StreamingProvider, path: str
) -> None:
    prices = {"model-a": {"input": 1, "output": 1}}
    alice.gateway.apply(alice.entry(kind="compatible", budget={"day_money": 10**9}, prices=prices))
    answer = alice.chat(path=path, max_tokens=10, input="", **SURCHARGES)
    assert answer.status == 200
    assert set(answer.headers["x-berth-removed-options"].split(", ")) == set(NAMED.split(", "))
    sent = provider.sales[-1].body
    assert SURCHARGES.keys() & sent.keys() == {"provider", "fallbacks"}
    assert (sent["provider"], sent["fallbacks"]) == ({"zdr": True}, [{"model": "model-a"}])
    usual: dict[str, Any] = {"service_tier": "auto", "prediction": None, "provider": {"zdr": True}}
    assert "x-berth-removed-options" not in alice.chat(path=path, max_tokens=10, input="", **usual).headers
