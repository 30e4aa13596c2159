"""The bound of a call's input holds, no matter what an agent calls its text."""

import base64
import json
from typing import Any

import pytest
from gateway.entries.entry import Entry, Limits
from gateway.providers.bounds import TOOL_OVERHEAD, bound_input
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call

pytestmark = pytest.mark.one_database

LIMITS = Limits(media_tokens=2000, unseen_tokens=200_000)
TEXT = "a b " * 20_000
FORGED: list[Any] = [
    {"type": "base64", "data": TEXT},
    {"file_data": TEXT},
    {"image_url": f"data:{TEXT}"},
    {"type": "input_audio", "input_audio": {"data": TEXT}},
    {"type": "image", "source": {"type": "base64", "data": TEXT}},
]


def bound(document: dict[str, Any]) -> int:
    return run_at_once(bound_input(document, len(json.dumps(document)), LIMITS)).tokens


@pytest.mark.parametrize("forged", FORGED)
def test_text_shaped_like_a_picture_counts_as_text_if_no_picture_is_read(forged: object) -> None:
    places: list[dict[str, Any]] = [
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": forged}}]},
        {"tools": [{"name": "f", "input_schema": {"properties": forged}}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": forged}]}]},
        {"response_format": {"json_schema": forged}},
        {"metadata": forged, "messages": []},
        {"system": [forged], "messages": []},
    ]
    for document in places:
        assert bound(document) >= len(TEXT), document.keys()


def test_other_files_count_by_bytes_but_pictures_and_sounds_count_a_flat_number() -> None:
    data = "A" * 250_000
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
        {"type": "input_audio", "input_audio": {"data": data}},
        {"type": "image", "source": {"type": "base64", "data": data}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": data}}]},
    ]
    for part in parts:
        for holder in ("messages", "input"):
            assert 6000 <= bound({holder: [{"content": [part]}]}) < 9500
    for part in ({"type": "input_file", "file_data": data}, {"type": "document", "source": {"data": data}}):
        assert bound({"messages": [{"content": [part]}]}) >= len(data)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o-mini", 48_169), ("openai/gpt-4o-mini-2024-07-18", 48_169), ("gpt-5.4", 10_000), ("gpt-6", 10_000),
        ("gpt-5.4-nano", 3_779), ("gpt-4.1-nano", 3_779), ("claude-opus-4-7", 5_000), ("gemini-3-pro", 4_128),
    ],
)  # fmt: skip
def test_a_picture_counts_as_many_tokens_as_the_model_may_see_in_it(model: str, tokens: int) -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "original"}}
    document = {"model": model, "messages": [{"role": "user", "content": [part] * 3}]}
    assert bound(document) >= 3 * tokens


@pytest.mark.parametrize("name", ["chat_template", "mm_processor_kwargs", "vl_high_resolution_images"])
def test_options_that_make_the_input_longer_than_it_came_count_what_may_be_unseen(name: str) -> None:
    assert bound({"messages": [], name: "x"}) >= LIMITS.unseen_tokens
    assert bound({"messages": [], name: None}) < LIMITS.unseen_tokens


@pytest.mark.parametrize("name", ["n", "best_of", "n_cmpl"])
def test_each_of_several_answers_counts_by_whatever_name_they_are_asked_for(name: str) -> None:
    document = {"model": "m", "messages": [], "max_tokens": 100, name: 7}
    parsed = run_at_once(read_call(Call.CHAT, Entry("p"), "application/json", json.dumps(document).encode()))
    assert parsed.output == 700


def pdf_parts(data: str) -> list[dict[str, Any]]:
    address = f"data:application/pdf;base64,{data}"
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return [
        {"type": "document", "source": source},
        {"type": "tool_result", "content": [{"type": "document", "source": source}]},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": address}},
        {"type": "input_file", "filename": "a.pdf", "file_data": address},
    ]


@pytest.mark.parametrize(
    ("size", "least", "most"),
    # A page as programs write it, twenty pages, 400 kB and 2 MB.
    [(3_000, 2_500, 15_000), (60_000, 20 * 2_500, 200_000), (400_000, 100_000, 210_000), (2_000_000, 100_000, 210_000)],
)
def test_a_pdf_counts_its_pages_and_no_more_than_a_model_reads(size: int, least: int, most: int) -> None:
    data = base64.b64encode(b"%PDF-1.7\n" + bytes(size)).decode()
    for part in pdf_parts(data):
        for holder in ("messages", "input"):
            assert least <= bound({holder: [{"content": [part]}]}) <= most, part["type"]
    for part in pdf_parts("A" * 250_000):  # no PDF
        assert bound({"messages": [{"content": [part]}]}) >= 250_000
    three = [{"content": [pdf_parts(data)[0]] * 3}]
    assert bound({"messages": three}) <= 210_000


def test_content_that_the_provider_fetches_counts_its_largest_possible_size() -> None:
    parts = [
        {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}},
        {"type": "input_file", "file_url": "https://a.example/b.pdf"},
        {"type": "file", "file": {"file_id": "f"}},
    ]
    for part in parts:
        assert bound({"messages": [{"content": [part]}]}) >= LIMITS.unseen_tokens
    tools: list[Any] = [{"type": "web_search"}, {"type": ["function"]}, {"type": {}}]
    for tool in tools:
        assert bound({"messages": [], "tools": [tool]}) >= LIMITS.unseen_tokens
    for mine in ({"type": "function"}, {"name": "f"}, {"type": "custom"}):
        assert bound({"messages": [], "tools": [mine]}) < LIMITS.unseen_tokens


def test_models_that_search_the_internet_count_the_largest_possible_result() -> None:
    searching = ["openai/gpt-5:online", "gpt-4o-mini-search-preview", "gpt-5-search-api"]
    searching += [f"{name}{more}" for name in searching[1:] for more in ("-2025-03-11", "-20250311", ":floor")]
    for model in (*searching, "openai/gpt-4o-2024-11-20:online", "openai/gpt-4o-search-preview-2025-03-11:online"):
        assert bound({"model": model, "messages": []}) >= LIMITS.unseen_tokens
        assert bound({"model": "a", "models": ["b", model], "messages": []}) >= LIMITS.unseen_tokens
    for model in ("search-apis", "a-search-apiary", "gpt-4o-2024-11-20"):
        assert bound({"model": model, "messages": []}) < 200
    assert bound({"model": "research:onlinelike", "models": 5, "messages": []}) < 200


def test_tools_count_the_text_that_a_provider_adds_to_them() -> None:
    for tools in ({"tools": [{"name": "f"}]}, {"functions": [{"name": "f"}]}):
        assert TOOL_OVERHEAD < bound({"messages": [], **tools}) < 2 * TOOL_OVERHEAD
    assert bound({"messages": [], "tools": []}) < 200


@pytest.mark.parametrize(("given", "length"), [(8000, 4096 + 8000), (10**9, 2**24), (-5, 4096), (None, 4096)])
def test_an_answer_without_a_length_is_allowed_more_than_its_thinking(given: int | None, length: int) -> None:
    entry, document = Entry("p"), {"model": "m", "messages": [], "reasoning": {"max_tokens": given}}
    for extra, expected in (({}, length), ({"max_tokens": 500}, 500)):
        parsed = run_at_once(read_call(Call.CHAT, entry, "application/json", json.dumps(document | extra).encode()))
        assert parsed.output == expected
