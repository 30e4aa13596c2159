"""Unknown parts of a conversation, fields of a form and options count as much as a model can read."""

from typing import Any

import pytest
from gateway.entries.entry import Entry
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call

from tests.gateway.test_bounds import LIMITS, bound

pytestmark = pytest.mark.one_database

URL = "https://a.example/b"


@pytest.mark.parametrize(
    ("head", "is_plain"),
    [
        ('name="language"', True), ('name="timestamp_granularities[]"', True), ("name=prompt", True),
        ('name="url"', False), ('name="file_url"', False), ('name="url[0]"', False), ('name="of_next_year"', False),
    ],
)  # fmt: skip
def test_a_sound_that_the_provider_fetches_counts_its_largest_possible_size(head: str, is_plain: bool) -> None:
    fields = {'name="model"': "m", head: URL}
    body = "".join(f"--x\r\nContent-Disposition: form-data; {each}\r\n\r\n{fields[each]}\r\n" for each in fields)
    work = read_call(Call.TRANSCRIPTION, Entry("p"), "multipart/form-data; boundary=x", f"{body}--x--\r\n".encode())
    assert (run_at_once(work).input < LIMITS.unseen_tokens) is is_plain


UNKNOWN: list[dict[str, Any]] = [
    {"content": [{"type": "of_next_year", "url": URL}]}, {"content": [{"video": URL}]}, {"content": {"image_url": URL}},
    {"content": [{"type": "tool_result", "content": [{"type": "x"}]}]}, {"type": ["text"]},
    {"role": "assistant", "audio": {"id": "audio_1"}}, {"role": "assistant", "images": [URL]},
    {"content": [{"type": "input_audio", "input_audio": URL}]},
]  # fmt: skip


@pytest.mark.parametrize("message", UNKNOWN, ids=range(len(UNKNOWN)))
def test_an_unknown_part_counts_its_largest_possible_size(message: dict[str, Any]) -> None:
    for holder in ("messages", "input"):
        assert bound({holder: [{"role": "user", "content": "a"}, message]}) >= LIMITS.unseen_tokens


def test_parts_and_messages_that_agents_send_count_their_text() -> None:
    calls = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    known: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "audio": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "t", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": [{"text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "reasoning_content": "a", "content": [{"type": "thinking", "thinking": "a"}]},
    ]
    assert bound({"messages": known}) < 1000
    items: list[Any] = [
        "a", [1, 2], {"text": "a"}, {"type": "reasoning", "summary": [], "id": "r", "encrypted_content": "a"},
        {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": []},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]},
    ]  # fmt: skip
    assert bound({"input": items}) < 1000


@pytest.mark.parametrize("name", ["search_parameters", "enable_search", "web_search_options"])
def test_a_search_that_is_switched_on_counts_its_largest_possible_result(name: str) -> None:
    on: tuple[Any, ...] = (True, {}, {"mode": "auto"})
    for value in on:
        assert bound({"messages": [], name: value}) >= LIMITS.unseen_tokens
    off: tuple[Any, ...] = (False, None, {"mode": "off"} if name == "search_parameters" else None)
    for value in off:
        assert bound({"messages": [], name: value}) < LIMITS.unseen_tokens
