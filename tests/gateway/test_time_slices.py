"""Large requests are parsed in slices, and only one request of each project waits in turn."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from gateway.entries.entry import Entry
from gateway.providers.extracted_texts import MAX_REMAINDER
from gateway.providers.incremental_json import MAX_ELEMENT, MAX_VALUES
from gateway.providers.reading import read_call
from gateway.providers.rewriting import write_body
from gateway.providers.time_slices import Turns, run_at_once, run_in_slices
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

pytestmark = pytest.mark.one_database

ENTRY = Entry("p")
EACH = MAX_VALUES // 4
SHAPES: dict[str, tuple[int, dict[str, Any]]] = {
    "objects": (20, {"a": [{"type": "text"}] * EACH}),
    "empty parts": (20, {"messages": [{"content": [{}] * EACH}]}),
    "parts": (40, {"messages": [{"content": [{"type": "image_url"}] * EACH}]}),
    "tools": (40, {"tools": [{"type": "function"}] * EACH}),
    "lists": (10, {"a": [[[1]]] * (MAX_VALUES // 6)}),
    "levels": (1, {"a": json.loads("[" * 900 + "]" * 900)}),
    "a text": (4, {"a": "a" * (4 << 20)}),
    "texts of escapes": (15, {"a": ['"' + "\n" * 100_000] * 20}),
    "texts of some kilobytes": (30, {"a": ["\n" * 10_000] * 400}),
    "messages": (80, {"messages": [{"role": "user", "content": "a, [b] " * 30}] * 20_000}),
    "backslashes": (30, {"a": "\\" * (2 << 20)}),
}
"""The least number of slices, and the fields of the request."""


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60))


@contextmanager
def uncounted() -> Iterator[None]:
    yield


@pytest.mark.parametrize("shape", SHAPES)
def test_others_have_their_turn_while_a_large_request_is_read(shape: str) -> None:
    least, fields = SHAPES[shape]
    body = json.dumps({"model": "m", "messages": []} | fields).encode()
    slices = 0

    @contextmanager
    def counted() -> Iterator[None]:
        nonlocal slices
        slices += 1
        yield

    async def scene() -> None:
        turns = count()

        async def others() -> None:
            while True:
                next(turns)
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(others())
        await run_in_slices(read_call(Call.CHAT, ENTRY, "application/json", body), counted)
        beside.cancel()
        assert next(turns) >= slices - 1

    run(scene)
    assert least <= slices <= 3 * least + 20


def test_a_request_that_would_block_everybody_is_not_read() -> None:
    for most, is_one in ((MAX_REMAINDER, False), (MAX_ELEMENT, True)):
        for size, is_read in ((most // 4000 - 10, True), (most // 4000 + (100 if is_one else 10), False)):
            texts = ["\n" * 1998] * size
            body = json.dumps({"model": "m", "a": [texts] if is_one else texts, "b": "x" * MAX_REMAINDER}).encode()
            check_whether_it_is_read(body, is_read=is_read)


def check_whether_it_is_read(body: bytes, *, is_read: bool) -> None:
    work = read_call(Call.CHAT, ENTRY, "application/json", body)
    if is_read:
        assert run_at_once(work).model == "m"
        return
    with pytest.raises(RefusedError) as refused:
        run_at_once(work)
    assert refused.value.why is Why.TOO_LARGE
    assert "shorter than 8 kB" in refused.value.words


def test_one_request_of_each_project_waits_in_turn() -> None:
    async def scene() -> None:
        turns, order = Turns(), []

        async def take(project: str) -> None:
            async with turns.taken(project):
                order.append(project)
                await asyncio.sleep(0)

        await asyncio.gather(*(take(project) for project in ["a"] * 5 + ["b", "c"]))
        assert order == ["a", "b", "c", "a", "a", "a", "a"]
        assert not turns._of_project

    run(scene)


def test_an_abandoned_or_failed_turn_passes_to_the_next() -> None:
    async def scene() -> None:
        turns = Turns()

        async def fail() -> None:
            async with turns.taken("a"):
                await run_in_slices(read_call(Call.CHAT, ENTRY, "application/json", b"["), uncounted)

        with pytest.raises(RefusedError):
            await fail()
        async with turns.taken("a"):
            waiting = [asyncio.ensure_future(fail()) for _ in range(2)]
            await asyncio.sleep(0)
            for each in waiting:
                each.cancel()
            await asyncio.wait(waiting)
        async with turns.taken("a"):
            pass

    run(scene)


@pytest.mark.parametrize("text", ['"\\ud800"', "9" * 30, "[" * 600 + "]" * 600, '"é\\u0000"', "1.0", "-0.0", "1e300"])
def test_the_written_document_equals_the_one_that_was_read(text: str) -> None:
    body = f'{{"model":"m","messages":[],"a":{text}}}'.encode()
    parsed = run_at_once(read_call(Call.CHAT, ENTRY, "application/json", body))
    run_at_once(write_body(parsed))
    assert json.loads(parsed.body) == json.loads(body)


def test_an_endless_number_is_refused_while_it_is_read() -> None:
    with pytest.raises(RefusedError):
        run_at_once(read_call(Call.CHAT, ENTRY, "application/json", b'{"model":"m","a":1e999}'))
