"""An agent that may use only some models reaches no other, no matter where a call names it."""

import json
from typing import Any

import pytest
from gateway.entries.entry import Budget, Entry
from gateway.providers import hidden_input
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database

CALLS = (Call.CHAT, Call.RESPONSES, Call.MESSAGES, Call.EMBEDDINGS, Call.SPEECH, Call.COUNT)


def read(call: Call, document: dict[str, Any], entry: Entry) -> ParsedCall:
    body = json.dumps({"model": "m"} | document).encode()
    return run_at_once(read_call(call, entry, "application/json", body))


def named_in(tool: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Returns calls that contain this tool in each place where a provider would use it."""
    return (
        {"tools": [{"name": "mine", "type": "custom"}, tool]},
        {"tools": [{"type": "namespace", "tools": [tool]}]},
        {"input": [{"type": "tool_search_output", "tools": [tool]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tools": [tool]}]}]},
    )


OTHERS: tuple[dict[str, Any], ...] = (
    *named_in({"type": "advisor_20260301", "name": "advisor", "model": "dear"}),
    *named_in({"type": "image_generation", "model": "dear"}),
    *named_in({"type": "openrouter:advisor", "parameters": {"name": "reviewer", "model": "dear"}}),
    *named_in({"type": "of next year", "Model_ID": "dear"}),
    *({"plugins": [{"id": "fusion", "model": "m", "analysis_models": ["m"], **each}]} for each in (
        {"model": "dear"}, {"analysis_models": ["m", "dear"]}, {"parameters": {"model": "dear"}},
        {"judge": {"fallbacks": ["dear"]}}, {"modelName": "dear"}, {"models": [{"model": "dear"}]},
        {"model": {"id": "dear"}}, {"\u017fub": {"model\u017f": ["dear"]}},
    )),
    {"moderation": {"model": "dear"}}, {"fusion_model": "dear"}, {"provider": {"model": "dear"}},
    {"fallbacks": ["dear"]}, {"fallbacks": [{"model": "dear"}]}, {"models": ["m", "dear"]}, {"preset": "dear"},
    {"fallbacks": [{"model": "m", "tools": [{"type": "of next year", "model": "dear"}]}]},
)  # fmt: skip


@pytest.mark.parametrize("document", OTHERS, ids=range(len(OTHERS)))
def test_a_model_outside_the_list_is_refused_wherever_it_is_named(document: dict[str, Any]) -> None:
    for call in CALLS:
        for budget in (Budget(), Budget(day_tokens=10**9)):
            with pytest.raises(RefusedError) as refused:
                read(call, document, Entry("p", models=frozenset({"m"}), budget=budget))
            assert refused.value.why is Why.NOT_FOUND
        assert read(call, document, Entry("p", models=frozenset({"m", "dear", "@preset/dear"}))).model == "m"
        assert read(call, document, Entry("p")).model == "m"


@pytest.mark.parametrize("kind", ["image_generation", "openrouter:advisor", "openrouter:subagent", "openrouter:fusion"])
def test_a_tool_that_asks_a_model_must_name_it(kind: str) -> None:
    named = {"model": "m", "analysis_models": ["m"]}
    restricted = Entry("p", models=frozenset({"m"}))
    for document in named_in({"type": kind}):
        with pytest.raises(RefusedError, match=kind):
            read(Call.RESPONSES, document, restricted)
        assert read(Call.RESPONSES, document, Entry("p")).model == "m"
    choice = {"tool_choice": {"type": "allowed_tools", "tools": [{"type": kind}]}}
    for document in (*named_in({"type": kind, **named}), *named_in({"type": kind, "parameters": named})):
        assert read(Call.RESPONSES, document | choice, restricted).model == "m"


SCHEMA = {"type": "object", "properties": {"model": {"type": "string", "enum": ["a", "b"], "default": "a"}}}
TEXTS: tuple[dict[str, Any], ...] = (
    {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]},
    {"tools": [{"type": "function", "name": "f", "parameters": {"model": "a", **SCHEMA}}]},
    {"tools": [{"name": "f", "input_schema": {"model": "a", **SCHEMA}}]},
    {"functions": [{"name": "f", "parameters": {"model": "a", **SCHEMA}}]},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"model": "a", **SCHEMA}}}},
    {"text": {"format": {"type": "json_schema", "name": "a", "schema": {"model": "a", **SCHEMA}}}},
    {"output_config": {"format": {"type": "json_schema", "schema": {"model": "a", **SCHEMA}}}},
    {"metadata": {"model": "a"}}, {"chat_template_kwargs": {"model_identity": "a", "model": "a"}},
    {"messages": [{"role": "user", "content": '{"model": "a"}'}]},
    {"messages": [{"content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"model": "a"}}]}]},
    {"messages": [{"content": [{"type": "mcp_tool_use", "id": "t", "name": "f", "input": {"model": "a"}}]}]},
    {"messages": [{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"model": "a"}}}]}]},
    {"input": [{"type": "function_call", "name": "f", "arguments": {"model": "a"}}]},
    {"provider": {"allow_fallbacks": True}}, {"plugins": [{"id": "web", "engine": "exa"}]},
    {"tools": [{"type": "image_generation", "model": "m"}, {"type": "web_search"}]},
)  # fmt: skip


@pytest.mark.parametrize("document", TEXTS, ids=range(len(TEXTS)))
def test_names_in_texts_schemas_and_arguments_are_no_models(document: dict[str, Any]) -> None:
    for call in CALLS:
        assert read(call, document, Entry("p", models=frozenset({"m"}))).model == "m"


def test_a_large_call_is_checked_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.providers.model_choice.OBJECTS_PER_SLICE", 10)
    items = [{"role": "user", "content": [{"type": "text", "text": "a"}]} for _ in range(500)]
    steps = []
    for models in (None, frozenset({"m"})):
        body = json.dumps({"model": "m", "messages": items}).encode()
        steps.append(sum(1 for _ in read_call(Call.CHAT, Entry("p", models=models), "application/json", body)))
    assert steps[1] - steps[0] >= 50
    assert hidden_input.OBJECTS_PER_SLICE > 10


def test_unknown_options_do_not_reach_the_provider_of_a_restricted_agent(
    alice: Agent, provider: StreamingProvider
) -> None:
    alice.gateway.apply(alice.entry(models=["model-a"]))
    answer = alice.chat(deployment_id="dear", routing={"to": "dear"}, temperature=0)
    assert answer.status == 200
    assert answer.headers["x-berth-removed-options"] == "deployment_id, routing"
    assert provider.sales[-1].body.keys() == {"model", "messages", "temperature"}


@pytest.mark.parametrize("kind", ["anthropic", "compatible"])
def test_counting_tokens_is_checked_like_any_other_call(alice: Agent, provider: StreamingProvider, kind: str) -> None:
    def count(**fields: Any) -> int:
        return alice.chat(path="messages/count_tokens", **fields).status

    budget, prices = {"day_money": 0}, {"other": {"input": 1, "output": 1}}
    alice.gateway.apply(alice.entry(kind=kind, models=["model-a"], budget=budget, prices=prices))
    assert count(model="dear") == count(tools=[{"type": "advisor_20260301", "model": "dear"}]) == 404
    assert count(api_base="http://a.example") == count(MODEL="dear") == count(model=None) == 400
    assert not provider.sales
    assert count(tools=[{"type": "web_search_20250305"}], system="a") == 200
    assert provider.sales[-1].body.keys() == {"model", "messages", "tools", "system"}
    assert alice.gateway.usage(alice.project) == []


DEFAULTS = {"none": ({}, 200), "tokens": ({"budget": {"day_tokens": 10**6}}, 200)} | {
    "models": ({"models": ["model-a"]}, 403),
    "money": ({"budget": {"day_money": 10**9}, "prices": {"model-a": {"input": 1, "output": 1}}}, 403),
}


@pytest.mark.parametrize(("entry", "status"), DEFAULTS.values(), ids=DEFAULTS)
def test_the_provider_chooses_fallbacks_only_where_any_model_may_answer(
    alice: Agent, provider: StreamingProvider, entry: dict[str, Any], status: int
) -> None:
    alice.gateway.apply(alice.entry(kind="anthropic", **entry))
    assert alice.chat(path="messages", max_tokens=10, fallbacks="default").status == status
    assert [sale.body["fallbacks"] for sale in provider.sales] == ["default"] * (status == 200)
    assert alice.chat(path="messages", max_tokens=10, fallbacks="another").status == 400


@pytest.mark.parametrize("entry", [{}, {"models": ["model-a", "b"]}], ids=["any", "some"])
def test_fallbacks_may_have_options_of_their_own_without_a_budget(
    alice: Agent, provider: StreamingProvider, entry: dict[str, Any]
) -> None:
    alice.gateway.apply(alice.entry(kind="anthropic", **entry))
    fallbacks = [{"model": "b", "max_tokens": 50}, {"model": "model-a"}]
    assert alice.chat(path="messages", max_tokens=10, fallbacks=fallbacks).status == 200
    assert provider.sales[-1].body["fallbacks"] == fallbacks
    invalid: tuple[object, ...] = ({"max_tokens": 5}, {"model-a": ["b"]}, 5, None, [])
    for wrong in invalid:
        answer = alice.chat(path="messages", fallbacks=[wrong])
        assert (answer.status, b"Each of the fallbacks must be a name" in answer.body) == (400, True)
