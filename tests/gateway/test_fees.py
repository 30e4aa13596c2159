"""Under a money budget, calls with fees beyond tokens are refused, and no option bypasses the gateway's checks."""

import json
from typing import Any

import pytest
from gateway.entries.entry import Kind, Price, Provider
from gateway.providers.fees import FEES_REFUSED, UNKNOWN_PRICE
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.rewriting import request_usage
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.test_hostile_options import IN_TOKENS, LENGTHS, LIMITS, read

pytestmark = pytest.mark.one_database

PAID: tuple[Any, ...] = (
    "web_search", "web_search_20250305", "web_search_preview", "code_interpreter", "code_execution_20250825",
    "file_search", "image_generation", "shell", "builtin_function", "of next year", "functions", "FUNCTION", 5, {},
)  # fmt: skip
WITH_FEES: tuple[dict[str, Any], ...] = (
    *({"tools": [{"type": "function"}, {"type": kind}]} for kind in PAID),
    {"web_search_options": {}}, {"plugins": [{"id": "web"}]}, {"search_parameters": {"mode": "on"}},
    {"enable_search": True}, {"prompt": {"id": "pmpt_1"}}, {"preset": "mine"}, {"model": "a:online"},
    {"model": "gpt-4o-search-preview"}, {"model": "a@preset/mine"}, {"models": ["m", "a:online"]},
    *({name: [{"model": "gpt-4o-search-preview"}]} for name in ("models", "fallbacks")), {"fallbacks": ["a:online"]},
    *({"model": name} for name in ("sonar", "perplexity/Sonar-pro", "groq/compound", "compound-beta-mini")),
    {"tools": [{"googleSearch": {}}]}, {"tools": [{"type": None}]}, {"tools": [{"retrieval": {}, "type": None}]},
    {"tools": [{"type": "namespace", "tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]}]},
    {"input": [{"type": "tool_search_output", "tools": [{"type": "web_search"}]}]},
    {"web_search_options": {"mode": "off"}}, {"search_parameters": {}},
)  # fmt: skip


@pytest.mark.parametrize("document", WITH_FEES, ids=range(len(WITH_FEES)))
def test_a_call_with_extra_fees_is_refused_under_a_money_budget(document: dict[str, Any]) -> None:
    for call in LENGTHS:
        given = {"model": "m", **document}
        with pytest.raises(RefusedError) as refused:
            read(call, given, models=None)
        assert (refused.value.why, refused.value.words) == (Why.FORBIDDEN, FEES_REFUSED)
        assert read(call, given, models=None, budget=IN_TOKENS).body


def test_an_agent_s_own_tools_cost_their_tokens() -> None:
    kinds = (
        "function", "custom", "mcp", "bash_20250124", "text_editor_20250728", "computer_20250124", "memory_20250818",
        "web_fetch_20250910", "local_shell", "tool_search_tool_regex_20251119", "tool_search", "namespace", "computer",
    )  # fmt: skip
    own: tuple[dict[str, Any], ...] = ({"name": "mine"}, {"function": {}, "type": None}, {"input_schema": {}})
    inner = [{"type": "namespace", "tools": list(own)}, {"type": "mcp_list_tools", "tools": list(own)}]
    tools: list[Any] = [*({"type": kind} for kind in kinds), *own, inner[0], 5, None]
    free = {"enable_search": False, "plugins": [], "search_parameters": {"mode": "off"}, "input": inner}
    for call in LENGTHS:
        assert read(call, {"model": "m", "tools": tools, **free}).body
    names = ("sonarqube-helper", "a/compounding", "unsonar", "my-compound")
    assert all(
        read(Call.CHAT, {"model": name}, models=None, prices=dict.fromkeys(names, Price(1, 1, 1))) for name in names
    )


def test_the_input_of_fallbacks_and_provider_tools_is_reserved() -> None:
    plain = read(Call.CHAT, {"model": "m", "tools": [{"name": "mine"}]}).input
    assert plain < LIMITS.unseen_tokens
    given: tuple[dict[str, Any], ...] = (
        {"fallbacks": ["a:online"]},
        {"tools": [{"googleSearch": {}}]},
        {"model": "sonar-pro"},
    )
    for each in given:
        assert read(Call.CHAT, {"model": "m", **each}, models=None, budget=IN_TOKENS).input > LIMITS.unseen_tokens


def test_a_suffix_for_an_expensive_host_is_removed_unless_staff_keep_its_price() -> None:
    prices = {"m": Price(1, 1, 1), "kept:nitro": Price(5, 5, 5)}
    names = {
        "m:nitro": "m", "a/m:NITRO": "a/m", "m:exacto:floor": "m:floor", "m:nitrogen": "m:nitrogen", "m:free": "m:free",
        "kept:nitro": "kept:nitro", "m": "m",
    }  # fmt: skip
    for name, left in names.items():
        fallbacks = {"models": [name], "fallbacks": [name, {"model": name}]}
        sent = json.loads(read(Call.CHAT, {"model": name, **fallbacks}, models=None, prices=prices).body)
        assert sent["model"] == left
        assert sent["models"] == [left]
        assert sent["fallbacks"] == [left, {"model": left}]


def test_a_model_without_a_price_is_refused_under_a_money_budget() -> None:
    document = {"model": "m", "models": ["b"]}
    kinds = {kind: Provider("v", "k", kind, "http://a.example") for kind in Kind}
    for kind, provider in kinds.items():
        each = {"models": None, "provider": provider}
        if kind is Kind.OPENROUTER:
            assert read(Call.CHAT, document, **each).body
            continue
        with pytest.raises(RefusedError, match=UNKNOWN_PRICE):
            read(Call.CHAT, document, **each)
        assert read(Call.CHAT, document, **each, budget=IN_TOKENS).body
        assert read(Call.CHAT, {"model": "M-20261122", "models": ["b:free"]}, **each).body


def test_openrouter_reports_the_cost_of_a_call_in_spite_of_the_agent_s_options() -> None:
    for call, left in ((Call.CHAT, {"include": True}), (Call.RESPONSES, None), (Call.MESSAGES, None)):
        parsed = read(call, {"model": "m", "usage": {"include": False}})
        parsed.document = json.loads(parsed.body)
        request_usage(parsed, Kind.OPENROUTER)
        assert parsed.document.get("usage") == left
    for option, hide_usage in (({"include": True}, False), ({"include": False}, True), (None, True), ("a", True)):
        parsed = ParsedCall(Call.CHAT, {"usage": option}, "m", 1, 1, 1, is_stream=True)
        request_usage(parsed, Kind.OPENROUTER)
        assert parsed.hide_usage is hide_usage


def test_fields_that_make_a_proxy_use_another_model_or_server_are_refused() -> None:
    names = ("extra_body", "extra_headers", "api_base", "base_url", "api_key", "user_config", "model_list", "headers")
    for name in (*names, "context_window_fallback_dict", "router_settings_override"):
        for call in (*LENGTHS, Call.EMBEDDINGS, Call.SPEECH, Call.COUNT):
            option = {name: {"model": "dear", "max_tokens": 9**9}}
            for document in (option, {"fallbacks": [{"model": "a", **option}]}):
                with pytest.raises(RefusedError) as refused:
                    read(call, {"model": "m", **document}, models=None)
                assert name in refused.value.words
