"""A call that waits for room in its budget keeps only its body. The parsed document needs far more memory."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.budgets.changes import Reservation
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Kind, Provider
from gateway.meters.usage import Usage
from gateway.providers import call
from gateway.providers.call import ProviderCalls
from gateway.providers.extracted_texts import LONG, MIN_EXTRACTED
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.provider_request import ProviderRequest
from gateway.rules.paths import Call
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.sightings import Sightings

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

BODIES = {
    "at once": "short \U0001f600",
    "in turn": "longer \U0001f600" * 10_000,
    "with a long text": "\U0001f600" * (LONG // 4 + MIN_EXTRACTED),
}


@pytest.mark.parametrize("shape", BODIES)
@pytest.mark.parametrize("waits_for_others", [False, True])
def test_a_waiting_call_does_not_keep_its_parsed_document(
    monkeypatch: pytest.MonkeyPatch, shape: str, waits_for_others: bool
) -> None:
    document = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": BODIES[shape]}]}
    body = json.dumps(document, ensure_ascii=False).encode()
    read, sent = list[ParsedCall](), list[ParsedCall]()

    async def reserve(
        entry: Entry, model: str, *, input_tokens: int, max_output: int, on_wait: Any, **_: Any
    ) -> Reservation:
        assert read[0].document["messages"]
        if waits_for_others:
            on_wait()
            assert not read[0].document
            assert not read[0].texts._texts
            assert read[0].received is body
        return Reservation(1, entry.project, 0, model, input_tokens, max_output, 0)

    async def ask(self: ProviderCalls, request: ProviderRequest, parsed: ParsedCall, *_: object) -> Any:
        assert not any(each.received for each in [*read, parsed])
        sent.append(parsed)

    monkeypatch.setattr(ProviderCalls, "_ask", ask)
    monkeypatch.setattr(call, "read_body", lambda *_: asyncio.sleep(0, body))
    parse = ProviderCalls._parse

    async def note(self: ProviderCalls, *given: Any) -> ParsedCall:
        read.append(await parse(self, *given))
        return read[-1]

    monkeypatch.setattr(ProviderCalls, "_parse", note)

    async def scene() -> None:
        ledger = SimpleNamespace(reserve=reserve, settle=lambda *_, **__: None)
        calls = ProviderCalls(cast(Any, None), cast(Any, ledger), Sightings(lambda: 0.0), Rates(lambda: 0.0))
        entry = Entry("p", provider=Provider("", "", Kind.OPENAI, ""), budget=Budget(day_tokens=10**9))
        request = SimpleNamespace(headers={}, content_length=len(body))
        assert entry.provider
        await calls.answer(ProviderRequest(cast(Any, request), entry, entry.provider, Call.CHAT, ""))

    asyncio.run(scene())
    assert len(read) == 1 + waits_for_others
    assert json.loads(sent[0].body) == document


@pytest.mark.parametrize("waits", [True, False], ids=["waited", "was read slowly"])
def test_a_form_is_read_again_by_the_settings_that_changed_meanwhile(
    monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--x--\r\n'
    http = cast(Any, SimpleNamespace(headers={"Content-Type": "multipart/form-data; boundary=x"}, content_length=1))
    provider = Provider("", "", Kind.OPENAI, "")
    entry, now = Entry("p", provider=provider), Entry("p", provider=provider, models=frozenset({"other"}))
    request = ProviderRequest(http, entry, provider, Call.TRANSCRIPTION, "")
    changed = ProviderRequest(http, now, provider, Call.TRANSCRIPTION, "")

    async def reserve(_entry: Entry, model: str, *, on_wait: Any, **_: Any) -> Reservation:
        if waits:
            on_wait()
        monkeypatch.setattr(ProviderRequest, "renewed", lambda _: changed)
        return Reservation(1, "p", 0, model, 1, 0, 0)

    async def scene() -> None:
        ledger = SimpleNamespace(reserve=reserve, settle=lambda *_, **__: None)
        calls = ProviderCalls(cast(Any, None), cast(Any, ledger), Sightings(lambda: 0.0), Rates(lambda: 0.0))
        with pytest.raises(RefusedError) as refused:
            await calls.answer(request)
        assert refused.value.why is Why.NOT_FOUND

    monkeypatch.setattr(call, "read_body", lambda *_: asyncio.sleep(0, body))
    asyncio.run(scene())


def test_only_a_call_without_room_is_reported_as_waiting(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        entry, waits = Entry("p", budget=Budget(day_tokens=100)), list[int]()

        def begin(number: int, most: int) -> Coroutine[Any, Any, Reservation]:
            return ledger.reserve(
                entry, "m", input_tokens=0, min_output=1, max_output=most, on_wait=lambda: waits.append(number)
            )

        first = await begin(1, 100)
        second = asyncio.ensure_future(begin(2, 200))
        await asyncio.sleep(0)
        assert waits == [2]
        ledger.settle(first, Usage(0, 30), entry=entry)
        assert (await second).output == 70
        assert waits == [2]

    run(tmp_path, Clock(2026, 11, 22), test)
