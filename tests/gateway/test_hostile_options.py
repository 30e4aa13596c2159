"""No field of a call gets a longer or more expensive answer than was reserved: otherwise the call is refused."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from gateway.entries.entry import Budget, Entry, Kind, Limits, Price
from gateway.meters.anthropic import read_anthropic_usage
from gateway.meters.usage import Usage
from gateway.providers import rewriting
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError

from tests.gateway.junk import VALUES

pytestmark = pytest.mark.one_database

LIMITS = Limits(answer_tokens=100, media_tokens=2000, unseen_tokens=200_000)
ALICE = Entry(
    "p", budget=Budget(day_tokens=10**9, day_money=10**9), prices=dict.fromkeys("ma", Price(1, 1, 1)),
    limits=LIMITS, models=frozenset({"m", "a"}),
)  # fmt: skip
LENGTHS = {
    Call.CHAT: ("max_completion_tokens", "max_tokens", "n_predict", "max_new_tokens"),
    Call.RESPONSES: ("max_output_tokens",),
    Call.MESSAGES: ("max_tokens",),
}
IN_TOKENS = Budget(day_tokens=10**9)
FIELDS = (
    "n", "best_of", "max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict", "max_new_tokens", "stream",
    "background", "service_tier", "speed", "inference_geo", "prediction", "model", "models", "fallbacks", "preset",
    "prompt", "betas", "anthropic_beta",
)  # fmt: skip
MORE: dict[str, Any] = {"128": 128, "129": 129, "priority": "priority", "Priority": "Priority", "a model": ["m"]}


def read(call: Call, document: dict[str, Any], **entry: Any) -> ParsedCall:
    """Returns the call as it is sent."""
    entry_of = Entry(**{name: getattr(ALICE, name) for name in ALICE.__slots__} | entry)
    parsed = run_at_once(read_call(call, entry_of, "application/json", json.dumps(document).encode()))
    rewriting.rewrite(parsed, entry_of, Kind.COMPATIBLE, parsed.output)
    run_at_once(rewriting.write_body(parsed))
    return parsed


def number(value: object) -> float:
    """Returns the number that the most lenient provider would read."""
    try:
        return float(value)  # type: ignore[arg-type]  # that is the question
    except (TypeError, ValueError, OverflowError):
        return 1


def longest(call: Call, sent: dict[str, Any]) -> float:
    """Returns the tokens of the longest answer from a provider that accepts anything like a number."""
    prompts = sent.get("prompt")
    several = len(prompts) if isinstance(prompts, list) and not all(isinstance(each, int) for each in prompts) else 1
    choices = max(1, number(sent.get("n") or 1), number(sent.get("best_of") or 1)) * max(1, several)
    lengths = [number(sent[name]) for name in LENGTHS[call] if sent.get(name) is not None]
    return choices * (max(lengths) if lengths else float("inf"))


def changes() -> Iterator[dict[str, Any]]:
    values = [*VALUES.values(), *MORE.values()]
    yield from ({name: value} for name in FIELDS for value in values)
    for one, other in itertools.combinations(("n", "best_of", "max_tokens", "max_completion_tokens", "prompt"), 2):
        yield from (
            {one: first, other: second} for first in (0, 7, True, "9") for second in (0, 11, [1, "a"], ["a", "b"])
        )


@pytest.mark.parametrize("call", LENGTHS)
def test_no_field_makes_an_answer_longer_or_more_expensive_than_reserved(call: Call) -> None:
    taken = 0
    for change in changes():
        try:
            parsed = read(call, {"model": "m", "messages": [], "input": [], **change})
        except RefusedError:
            continue
        taken += 1
        sent = json.loads(parsed.body)
        assert longest(call, sent) <= parsed.output, change
        assert {parsed.model, *parsed.fallbacks} <= {"m", "a"}, change
        assert not sent.get("background"), change
        assert sent.get("stream") is None or isinstance(sent["stream"], bool) or not sent["stream"], change
        assert sent.get("service_tier") in (None, "auto", "default", "flex", "standard_only"), change
        assert not any(sent.get(name) for name in ("speed", "inference_geo", "prediction", "betas")), change
    assert taken > 200


ELSEWHERE: dict[str, dict[str, Any]] = {
    "what is kept": {"input": [{"type": "item_reference", "id": "msg_1"}]},
    "what is kept, by its name alone": {"input": [{"id": "msg_1"}]},
    "a picture that was made": {"input": [{"type": "image_generation_call", "id": "ig_1"}]},
    "a film": {"messages": [{"content": [{"type": "video_url", "video_url": {"url": "https://a.example/b"}}]}]},
    "a sound": {"messages": [{"content": [{"type": "audio_url", "audio_url": {"url": "https://a.example/b"}}]}]},
    "a file by its address": {"messages": [{"content": [{"type": "file", "file": {"file_data": "https://a.example/b"}}]}]},
    "a packed file": {"input": [{"content": [{"type": "input_file", "file_data": "data:a/b;base64,UEsDBBQA"}]}]},
    "a packed file, without its type": {"input": [{"content": [{"type": "input_file", "file_data": "UEsDBBQA"}]}]},
    "a long packed file": {
        "input": [{"content": [{"type": "input_file", "file_data": "data:application/vnd.openxmlformats-officedocument."
        "spreadsheetml.sheet;base64,UEsDB" + "A" * 300_000}]}]
    },
    "a search": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "programs": {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
    "files": {"tools": [{"type": "file_search", "vector_store_ids": ["a"]}]},
    "pictures to be made": {"tools": [{"type": "image_generation"}]},
    "a remote server": {"tools": [{"type": "mcp", "server_url": "https://a.example"}]},
    "a summary of its own": {"context_management": {"edits": [{"type": "compact_20260112"}]}},
    "a stored question": {"prompt": {"id": "pmpt_1"}},
    "another answer": {"previous_response_id": "resp_1"},
    "a search by option": {"web_search_options": {}, "plugins": [{"id": "web"}]},
}  # fmt: skip


@pytest.mark.parametrize("document", ELSEWHERE.values(), ids=ELSEWHERE)
def test_content_stored_at_the_provider_is_reserved_for(document: dict[str, Any]) -> None:
    for call in LENGTHS:
        assert read(call, {"model": "m", **document}, models=None, budget=IN_TOKENS).input >= LIMITS.unseen_tokens


def test_content_that_only_looks_stored_is_not_reserved_for() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    talk: list[dict[str, Any]] = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"id": "5"}}]},
        {"type": "function_call", "id": "f", "arguments": "{}"},
        {"content": [{"type": "input_file", "file_data": "data:text/plain;base64,AAAA"}]},
    ]
    for call in LENGTHS:
        parsed = read(
            call, {"model": "m", "messages": talk, "input": talk, "tools": [{"type": "function", "f": schema}]}
        )
        assert parsed.input < 10_000


def test_a_picture_counts_by_the_model_that_looks_at_it() -> None:
    picture = {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}]}
    for model, others, is_dear in (
        ("openai/gpt-4o-mini-2024-07-18", [], True), ("m", ["gpt-4o-mini"], True), ("gpt-4o", [], False),
    ):  # fmt: skip
        for name in ("models", "fallbacks"):
            parsed = read(Call.CHAT, {"model": model, name: others, **picture}, models=None, budget=IN_TOKENS)
            assert (parsed.input >= 48_169) == is_dear


def test_a_fallback_model_must_be_allowed_and_carries_no_options_of_its_own() -> None:
    assert read(Call.CHAT, {"model": "m", "fallbacks": ["a", {"model": "a"}]}).fallbacks == ("a", "a")
    longer = read(Call.CHAT, {"model": "m", "fallbacks": [{"model": "a", "max_tokens": 9**9, "speed": "fast"}, "a"]})
    assert json.loads(longer.body)["fallbacks"] == [{"model": "a"}, "a"]
    assert longer.removed == ["fallbacks.max_tokens", "fallbacks.speed"]
    for change in (
        {"fallbacks": ["b"]}, {"fallbacks": [{"model": "b"}]}, {"preset": "mine"}, {"models": ["a", {"model": "b"}]},
        {"fallbacks": "default"},
    ):  # fmt: skip
        with pytest.raises(RefusedError):
            read(Call.CHAT, {"model": "m", **change})
    mine = read(Call.CHAT, {"model": "m", "preset": "mine"}, models=None, budget=IN_TOKENS)
    assert mine.fallbacks == ("@preset/mine",)


def test_a_long_input_at_twice_the_price_is_refused() -> None:
    for given, left in (
        ("context-1m-2025-08-07", {}), ("a-1, context-1m-2025-08-07,b-2", {"anthropic-beta": "a-1,b-2"}),
        ("a-1", {"anthropic-beta": "a-1"}), ("", {}),
    ):  # fmt: skip
        headers = {"anthropic-beta": given}
        rewriting.remove_surcharge_headers(headers)
        assert headers == left


def test_no_more_expensive_host_is_selected_and_data_retention_choices_pass() -> None:
    private = {"data_collection": "deny", "zdr": True}
    dear: dict[str, Any] = {
        "only": ["dear"], "order": ["dear"], "ignore": ["cheap"], "sort": "throughput", "allow_fallbacks": False,
        "require_parameters": True, "quantizations": ["fp32"], "max_price": {"prompt": 9},
        "preferred_min_throughput": 9, "of next year": 1,
    }  # fmt: skip
    for call in LENGTHS:
        for given, left in (
            *(({name: value}, None) for name, value in dear.items()), (dear | private, private), (private, private),
            ({}, None), ("dear", None), (["dear"], None),
        ):  # fmt: skip
            parsed = read(call, {"model": "m", "messages": [], "input": [], "provider": given})
            assert json.loads(parsed.body).get("provider") == left, given


def test_content_written_alongside_an_answer_counts_too() -> None:
    told = {"input_tokens": 100, "output_tokens": 10}
    rounds = [{"type": "compaction", "input_tokens": 900, "output_tokens": 50}, {"type": "message", **told}]
    assert read_anthropic_usage({**told, "iterations": rounds}) == Usage(1000, 60)
    assert read_anthropic_usage({**told, "iterations": [{"type": "message", **told}]}) == Usage(100, 10)
    strange: list[Any] = [None, [], [5], {"a": 1}, "a", [{}]]
    for nonsense in strange:
        assert read_anthropic_usage({**told, "iterations": nonsense}) == Usage(100, 10)
    assert read_anthropic_usage({**told, "iterations": [{"output_tokens": -5}]}) is None
