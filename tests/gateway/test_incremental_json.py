"""A request of many short texts is parsed and written in steps, without changing its meaning."""

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.entries.entry import Entry
from gateway.providers import incremental_json, json_documents
from gateway.providers.json_documents import read_json
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.rewriting import write_body
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.test_extracted_texts import make_value

pytestmark = pytest.mark.one_database

BLANKS = ("", " ", "\n\t\r  ", " " * 40)


@pytest.fixture
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes steps so small that they end anywhere."""
    monkeypatch.setattr(json_documents, "MAX_AT_ONCE", 0)
    for module in (json_documents, incremental_json):
        monkeypatch.setattr(module, "STEP_SIZE", 7)


def spell(value: Any, chance: random.Random) -> str:
    """Returns the value as JSON, with blanks wherever they are allowed."""
    blank = chance.choice(BLANKS)
    if isinstance(value, dict):
        pairs = (f"{blank}{spell(name, chance)}{blank}:{spell(each, chance)}" for name, each in value.items())
        return blank + "{" + f"{blank},".join(pairs) + blank + "}" + blank
    if isinstance(value, list):
        return f"{blank}[{blank}" + ",".join(spell(each, chance) for each in value) + f"]{blank}"
    return blank + json.dumps(value, ensure_ascii=chance.random() < 0.5)


def make_document(chance: random.Random) -> dict[str, Any]:
    scalars: list[Any] = [0, -1, 12345678901234567890, 1.5, 1e-7, True, False, None, "", [], {}]
    names = chance.sample(["messages", "b", "ü", "", 'c"d', "tools"], 4)
    return {name: chance.choice([make_value(chance), chance.choices(scalars, k=9), *scalars]) for name in names}


@pytest.mark.usefixtures("_small_steps")
def test_a_document_read_in_steps_equals_the_one_read_at_once() -> None:
    chance = random.Random(11)
    for _ in range(150):
        body = spell(make_document(chance), chance).encode(errors="surrogatepass")
        try:
            expected = json.loads(body.decode())
        except UnicodeDecodeError:
            with pytest.raises(RefusedError):
                run_at_once(read_json(body))
            continue
        for mark in (b"", b"\xef\xbb\xbf"):
            found = run_at_once(read_json(mark + body))
            assert found == expected
            assert list(found) == list(expected)
        written = run_at_once(json_documents.write_json(found | {"a": 1}, incrementally=True))
        assert json.loads(written) == expected | {"a": 1}


@pytest.mark.usefixtures("_small_steps")
def test_a_document_that_is_no_json_object_is_refused_at_any_cut() -> None:
    whole = b'{"model": "m", "a": [1, {"b": "\xc3\xa4"}, 1.5e3], "c": {"d": [true]}} '
    for end in range(len(whole) - 1):
        with pytest.raises(RefusedError):
            run_at_once(read_json(whole[:end]))
    changed = [
        whole + b"1", b"[]", b'"a"', b"", b"  ", b"{,}", b'{"a":[1 2]}', b'{"a"}', b'{"a":1,}', b'{1:2}', b'{"a":[1,]}',
        b'{"a":[,]}', b"[[[", b'{"a":NaN}', b'{"a":[1e999]}', b'{"a":"\xff"}', b'{"a":"\n"}', b'{"a":' + b"[" * 99_000,
    ]  # fmt: skip
    for body in changed:
        with pytest.raises(RefusedError):
            run_at_once(read_json(body))
    assert run_at_once(read_json(b'{"a":1,"a":[2]}')) == {"a": [2]}
    assert run_at_once(read_json(b" { } ")) == {}


def read(document: dict[str, Any]) -> ParsedCall:
    parsed = run_at_once(read_call(Call.CHAT, Entry("p"), "application/json", json.dumps(document).encode()))
    run_at_once(write_body(parsed))
    return parsed


def test_a_conversation_of_a_million_tokens_passes_in_short_messages() -> None:
    words = 'Она сказала: "да, {нет}, [может быть]". '
    talk = [{"role": "user", "content": words * 40}] * 1500  # 9 MB with its escapes
    parsed = read({"model": "m", "messages": talk})
    assert json.loads(parsed.body) == parsed.document == {"model": "m", "messages": talk}
    with pytest.raises(RefusedError) as refused:
        read({"model": "m", "messages": [{"role": "user", "content": [{"a": {}}]}] * 30_000})
    assert refused.value.why is Why.TOO_LARGE


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff"])
def test_a_lone_surrogate_does_not_lengthen_the_document(half: str) -> None:
    text = "é漢\U0001f600" * 500
    body = f'{{"model":"m","messages":[{{"role":"user","content":"{text}{half}"}}],"{half}":1}}'.encode()
    parsed = run_at_once(read_call(Call.CHAT, Entry("p"), "application/json", body))
    run_at_once(write_body(parsed))
    assert parsed.body == body


def test_the_number_of_values_read_at_once_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if all of them are in the second half of the largest possible element."""
    marks, decoder = [], incremental_json.DECODER

    def decode(text: str, at: int) -> tuple[Any, int]:
        marks.append(sum(map(text.count, incremental_json.VALUE_MARKS)))
        found: tuple[Any, int] = decoder.raw_decode(text, at)
        return found

    monkeypatch.setattr(incremental_json, "DECODER", SimpleNamespace(raw_decode=decode))
    texts = ",".join(['"' + "x" * 8000 + '"'] * 263)
    for filler in ("{}", "1"):
        rest = ",".join([filler] * ((incremental_json.MAX_ELEMENT - len(texts) - 3000) // (len(filler) + 1)))
        with pytest.raises(RefusedError) as refused:
            run_at_once(incremental_json.read_incrementally(f'{{"a":[[{texts},{rest}]]}}'.encode()))
        assert refused.value.why is Why.TOO_LARGE
    assert max(marks) <= incremental_json.MAX_VALUES + incremental_json.STEP_SIZE
