"""No text of a provider's answer takes room or much time once the answer is over, however long it is."""

import gc
import json
import tracemalloc
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.usage import MILLION
from gateway.providers.call_cost import CallCost
from gateway.providers.meter_choice import choose_meter
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.proof import read_late_proof
from gateway.rules.paths import Call
from gateway.sightings import Sightings

from tests.gateway.test_ledger import Clock, run
from tests.gateway.upstream_worlds import entry as known_entry

pytestmark = pytest.mark.one_database

NOW = Clock(2026, 11, 30)
SIZE, ANSWERS = 100_000, 20
PRICE = Price(MILLION, MILLION, MILLION)
ERROR = {"code": "c", "type": "t", "message": "m", "param": "p"}
USAGE = {"input_tokens": 300_000, "output_tokens": 5, "total_tokens": 300_005}
RESPONSE = {
    "id": "i", "object": "response", "model": "m", "status": "completed", "service_tier": "s", "error": None,
    "output": [{"id": "i", "type": "message", "role": "r", "content": [{"type": "output_text", "text": "a"}]}],
    "usage": USAGE,
}  # fmt: skip
MESSAGE = {"id": "i", "type": "message", "role": "r", "model": "m", "content": [], "stop_reason": "s", "usage": USAGE}
CHOICE = {"index": 0, "finish_reason": "stop", "native_finish_reason": "n"}
CHAT = {"id": "i", "object": "o", "model": "m", "provider": "p", "service_tier": "s", "system_fingerprint": "f"}
ANSWERS_OF: dict[str, tuple[Call, list[dict[str, Any]]]] = {
    "a chat": (Call.CHAT, [CHAT | {"choices": [CHOICE | {"message": {"role": "r", "content": "a"}}], "usage": USAGE}]),
    "an error in a chat": (Call.CHAT, [CHAT | {"error": ERROR, "choices": [CHOICE | {"error": ERROR}]}]),
    "a stream of a chat": (
        Call.CHAT,
        [CHAT | {"choices": [CHOICE | {"delta": {"role": "r", "content": "a"}}], "usage": USAGE}, {"error": ERROR}],
    ),
    "a response": (Call.RESPONSES, [RESPONSE]),
    "a stream of a response": (
        Call.RESPONSES,
        [{"type": "response.output_text.delta", "delta": "a"}, {"type": "response.completed", "response": RESPONSE}],
    ),
    "a failed response": (
        Call.RESPONSES,
        [{"type": "response.created", "response": RESPONSE}, {"type": "response.failed", "response": {"error": ERROR}}],
    ),
    "a message": (Call.MESSAGES, [MESSAGE]),
    "a stream of a message": (
        Call.MESSAGES,
        [
            {"type": "message_start", "message": MESSAGE}, {"type": "error", "error": ERROR},
            {"type": "message_delta", "delta": {"stop_reason": "s"}, "usage": USAGE},
        ],
    ),
    "a transcript": (Call.TRANSCRIPTION, [{"text": "a", "language": "l", "model": "m", "usage": USAGE}]),
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields where the document has a text."""
    if isinstance(value, str):
        yield path
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, name))


def put(documents: list[Any], path: tuple[Any, ...], text: str) -> list[Any]:
    changed = deepcopy(documents)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = text
    return changed


CASES = [(name, path) for name, (_, documents) in ANSWERS_OF.items() for path in places(documents)]


class Gateway:
    """All that is kept of an answer."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.entry = Entry("p", budget=Budget(day_tokens=10**12), prices={"other": PRICE, "gemini-pro": PRICE})
        self.sightings = Sightings(NOW, kept=ledger.refusals)

    async def hear(self, call: Call, documents: list[Any]) -> None:
        for fallbacks in ((), ("other",)):
            await self._hear(call, documents, fallbacks)

    async def _hear(self, call: Call, documents: list[Any], fallbacks: tuple[str, ...]) -> None:
        reservation = await self.ledger.reserve(
            self.entry, "m", input_tokens=300_000, min_output=5, max_output=5, fallbacks=fallbacks
        )
        cost, is_stream = CallCost(reservation), len(documents) > 1
        parsed = ParsedCall(call, {}, "m", 300_000, output=5, choices=1, is_stream=is_stream)
        meter = choose_meter(parsed, {"Content-Type": "text/event-stream" if is_stream else "application/json"})
        for each in documents:
            meter.feed(b"data: %s\n\n" % json.dumps(each).encode() if is_stream else json.dumps(each).encode())
        meter.finish()
        cost.mark_complete(meter)
        if meter.error is not None:
            self.sightings.note(known_entry(), read_late_proof(call, meter.error))
        self.ledger.settle(reservation, cost.usage, entry=self.entry, fallbacks=fallbacks, reported_model=cost.model)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.sampled(12)
def test_a_text_is_not_kept(tmp_path: Path, case: tuple[str, tuple[Any, ...]]) -> None:
    name, path = case
    call, documents = ANSWERS_OF[name]

    async def test(ledger: Ledger) -> int:
        gateway = Gateway(ledger)
        await gateway.hear(call, put(documents, path, "x" * SIZE))
        await ledger._disk.run(lambda _: None)
        tracemalloc.start()
        try:
            for number in range(ANSWERS):
                await gateway.hear(call, put(documents, path, f"{number} {case}" + "x" * SIZE))
            await ledger._disk.run(lambda _: None)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert run(tmp_path, NOW, test) < 3 * SIZE
    assert (tmp_path / "usage.sqlite3").stat().st_size < SIZE


@pytest.mark.parametrize("name", ["gemini", "gpt-6", "grok", "-2026-11-30", "/", ":", "@preset/", "router"])
@pytest.mark.parametrize("answer", ["a chat", "a stream of a response", "a stream of a message"])
@pytest.mark.sampled(6)
def test_the_time_to_read_the_name_of_a_model_does_not_grow_with_its_square(
    tmp_path: Path, name: str, answer: str
) -> None:
    """With quadratic time these would take hours, in which no other agent gets an answer."""
    call, documents = ANSWERS_OF[answer]
    named = json.dumps({"model": name * (200_000 // len(name))})[1:-1]
    long = json.loads(json.dumps(documents).replace('"model": "m"', named))

    async def test(ledger: Ledger) -> None:
        await Gateway(ledger).hear(call, long)

    run(tmp_path, NOW, test)
