"""Any JSON from an agent or a provider is either refused or read without harm."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.disk import Disk
from gateway.budgets.tasks import Work
from gateway.entries.entry import Budget, Entry, Kind, Price
from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.document_meter import DocumentMeter
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.meters.usage import MAX_COUNT, Usage, cost_of
from gateway.providers.parsed_call import MAX_NAME_LENGTH
from gateway.providers.reading import read_call
from gateway.providers.rewriting import limit_length, request_usage, write_body
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.junk import VALUES, spoil
from tests.sampling import Some

pytestmark = pytest.mark.one_database

PART: dict[str, Any] = {
    "type": "image_url",
    "image_url": {"url": "data:a"},
    "source": {"type": "base64", "data": "a", "url": "b"},
    "input_audio": {"data": "a"},
    "file_data": "a",
    "content": [{"type": "image"}],
}
ASKED: dict[str, Any] = {
    "model": "m",
    "models": ["a"],
    "messages": [{"role": "user", "content": [PART], "output": [{}]}],
    "input": [{"content": [PART], "output": [{}]}],
    "prompt": ["a"],
    "n": 1,
    "best_of": 1,
    "max_tokens": 1,
    "max_completion_tokens": 1,
    "max_output_tokens": 1,
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function"}],
    "background": False,
    "previous_response_id": None,
    "mcp_servers": [],
    "other": 1,
}
ENTRIES = [
    Entry("p", budget=Budget(day_tokens=1000)),
    Entry("p", models=frozenset({"m", "a"}), prices={"m": Price(2**53 - 1, 2**53 - 1, 2**53 - 1)}),
]


@pytest.mark.parametrize("call", [Call.CHAT, Call.RESPONSES, Call.MESSAGES])
def test_every_request_of_an_agent_is_either_refused_or_countable(call: Call, some: Some) -> None:
    counted = sqlite3.connect(":memory:")
    for place, what, document in some(spoil(ASKED), one_in=3):
        body = json.dumps(document).encode()
        for entry in ENTRIES:
            where = f"{what} in {place}"
            try:
                parsed = run_at_once(read_call(call, entry, "application/json", body))
                if entry.budget.is_set:
                    limit_length(parsed, parsed.output, Kind.OPENAI)
                request_usage(parsed, Kind.OPENAI)
                run_at_once(write_body(parsed))
            except RefusedError:
                continue
            except Exception as error:
                raise AssertionError(where) from error
            money = cost_of(Usage(parsed.input, parsed.output), entry.prices.get("m"))
            assert all(0 <= each <= MAX_COUNT for each in (parsed.input, parsed.output, money)), where
            assert len(parsed.model) <= MAX_NAME_LENGTH
            counted.execute("SELECT ?, ?, ?, ?", (parsed.model, parsed.input, parsed.output, money))
    counted.close()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_invalid_utf_8_is_refused_because_tokens_are_estimated_from_bytes(encoding: str) -> None:
    text = json.dumps({"model": "m", "messages": [{"role": "user", "content": "\ua000" * 100}]}, ensure_ascii=False)
    with pytest.raises(RefusedError):
        run_at_once(read_call(Call.CHAT, ENTRIES[0], "application/json", text.encode(encoding)))
    parsed = run_at_once(read_call(Call.CHAT, ENTRIES[0], "application/json", text.encode("utf-8-sig")))
    run_at_once(write_body(parsed))
    assert parsed.input >= len(parsed.body)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 5000, "1" + "0" * 400, "-1", "1.5"])
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "n", "best_of", "stream", "stream_options"])
def test_nan_and_infinity_are_refused_or_replaced(text: str, name: str) -> None:
    body = f'{{"model":"m","messages":[],"stream":true,"{name}":{text}}}'.encode()
    try:
        parsed = run_at_once(read_call(Call.CHAT, ENTRIES[0], "application/json", body))
        request_usage(parsed, Kind.OPENAI)
        run_at_once(write_body(parsed))
    except RefusedError:
        return
    assert name == "stream_options" or text == "-1"
    assert parsed.document["stream_options"] == {"include_usage": True}


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}, "cost": 0.5}
NEWER = {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
ANTHROPIC = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 1}
DELTA = {"content": "a", "reasoning": "b", "tool_calls": [{"function": {"arguments": "c"}}]}
ANSWERED: dict[str, tuple[Callable[[], Meter], list[dict[str, Any]]]] = {
    "chat": (lambda: ChatMeter(hide_usage=True), [{"choices": [{"delta": DELTA, "text": "a"}], "usage": USAGE}]),
    "responses": (
        ResponsesMeter, [{"type": "response.completed", "delta": "a", "response": {"usage": NEWER}, "usage": USAGE}],
    ),
    "messages": (
        MessagesMeter,
        [
            {"type": "message_start", "message": {"usage": ANTHROPIC}},
            {"type": "content_block_delta", "delta": {"text": "a", "thinking": "b"}},
            {"type": "message_delta", "usage": ANTHROPIC},
        ],
    ),
    "document": (lambda: DocumentMeter(read_openai_usage), [{"usage": USAGE}]),
    "message": (lambda: DocumentMeter(read_anthropic_usage), [{"usage": ANTHROPIC}]),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERED)
def test_any_answer_of_a_provider_is_read_or_skipped(case: str) -> None:
    make, documents = ANSWERED[case]
    bound = Usage(10, 20)
    for document in documents:
        for place, what, spoiled in spoil(document):
            meter = make()
            event = f"data: {json.dumps(spoiled)}\n\n".encode()
            try:
                meter.feed(event if "document" not in case and case != "message" else event[6:])
                meter.finish()
                usage = meter.usage or meter.estimate(bound)
            except Exception as error:
                raise AssertionError(f"{what} in {place}") from error
            assert all(0 <= each <= MAX_COUNT for each in (usage.input, usage.output, usage.cached, usage.money or 0))


def test_a_name_that_cannot_be_stored_is_refused_and_counting_continues(
    alice: Agent, bob: Agent, provider: StreamingProvider
) -> None:
    for agent in (alice, bob):
        agent.gateway.apply(agent.entry(budget={"day_tokens": 1_000_000}))
    texts = {name: value for name, value in VALUES.items() if isinstance(value, str)}
    for name, value in {**texts, "a megabyte": "a" * (1 << 20)}.items():
        is_good = name in ("text", "number as text")
        for fields in ({"model": value}, {"models": [value]}):
            for path in ("chat/completions", "messages"):
                answer = alice.chat(path=path, **fields)
                assert answer.status == (200 if is_good else 400), name
                assert is_good or "error" in answer.json()
    provider.sales.clear()
    assert bob.chat().status == 200
    assert bob.settled()["output"] == provider.sales[0].output


@pytest.mark.parametrize(
    "error", [UnicodeEncodeError("a", "b", 0, 1, "c"), ValueError(), OverflowError(), MemoryError()]
)
def test_a_failing_job_fails_no_other_job_and_the_thread_survives(tmp_path: Path, error: Exception) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('from a work that failed', '')")
        raise error

    def write_body(name: str) -> Work:
        return lambda connection: connection.execute("INSERT INTO meta VALUES (?, '')", (name,)).rowcount

    disk = Disk(tmp_path / "usage.sqlite3")
    works = [disk.submit(work) for work in (write_body("one"), fail, write_body("two"), fail, write_body("three"))]
    assert [type(work.exception(60)) for work in works] == [
        type(None),
        type(error),
        type(None),
        type(error),
        type(None),
    ]
    names = disk.submit(lambda connection: [row[0] for row in connection.execute("SELECT name FROM meta")]).result(60)
    assert sorted(names) == ["commit", "one", "three", "two"]
    disk.close()
