"""A request of many short texts is read and written in runs, and means what it would mean otherwise."""

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.entries.entry import Entry
from gateway.providers import documents, runs
from gateway.providers.asked import Asked
from gateway.providers.documents import read_json
from gateway.providers.reading import read_call
from gateway.providers.slices import do_at_once
from gateway.providers.writing import write
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.test_long_texts import make_value

pytestmark = pytest.mark.one_database

BLANKS = ("", " ", "\n\t\r  ", " " * 40)


@pytest.fixture
def _of_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that runs end anywhere."""
    monkeypatch.setattr(documents, "IN_ONE_GO", 0)
    for module in (documents, runs):
        monkeypatch.setattr(module, "RUN", 7)


def spell(value: Any, chance: random.Random) -> str:
    """As JSON, with blanks wherever they may be."""
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


@pytest.mark.usefixtures("_of_few_bytes")
def test_a_document_read_in_runs_equals_the_one_read_at_once() -> None:
    chance = random.Random(11)
    for _ in range(150):
        body = spell(make_document(chance), chance).encode(errors="surrogatepass")
        try:
            expected = json.loads(body.decode())
        except UnicodeDecodeError:
            with pytest.raises(RefusedError):
                do_at_once(read_json(body))
            continue
        for mark in (b"", b"\xef\xbb\xbf"):
            found = do_at_once(read_json(mark + body))
            assert found == expected
            assert list(found) == list(expected)
        assert json.loads(do_at_once(documents.write_json(found | {"a": 1}, in_runs=True))) == expected | {"a": 1}


@pytest.mark.usefixtures("_of_few_bytes")
def test_a_document_that_is_no_json_object_is_refused_at_any_cut() -> None:
    whole = b'{"model": "m", "a": [1, {"b": "\xc3\xa4"}, 1.5e3], "c": {"d": [true]}} '
    for end in range(len(whole) - 1):
        with pytest.raises(RefusedError):
            do_at_once(read_json(whole[:end]))
    changed = [
        whole + b"1", b"[]", b'"a"', b"", b"  ", b"{,}", b'{"a":[1 2]}', b'{"a"}', b'{"a":1,}', b'{1:2}', b'{"a":[1,]}',
        b'{"a":[,]}', b"[[[", b'{"a":NaN}', b'{"a":[1e999]}', b'{"a":"\xff"}', b'{"a":"\n"}', b'{"a":' + b"[" * 99_000,
    ]  # fmt: skip
    for body in changed:
        with pytest.raises(RefusedError):
            do_at_once(read_json(body))
    assert do_at_once(read_json(b'{"a":1,"a":[2]}')) == {"a": [2]}
    assert do_at_once(read_json(b" { } ")) == {}


def read(document: dict[str, Any]) -> Asked:
    asked = do_at_once(read_call(Call.CHAT, Entry("p"), "application/json", json.dumps(document).encode()))
    do_at_once(write(asked))
    return asked


def test_a_conversation_of_a_million_tokens_passes_in_short_messages() -> None:
    words = 'Она сказала: "да, {нет}, [может быть]". '
    talk = [{"role": "user", "content": words * 40}] * 1500  # 9 MB with its escapes
    asked = read({"model": "m", "messages": talk})
    assert json.loads(asked.body) == asked.document == {"model": "m", "messages": talk}
    with pytest.raises(RefusedError) as refused:
        read({"model": "m", "messages": [{"role": "user", "content": [{"a": {}}]}] * 30_000})
    assert refused.value.why is Why.TOO_LARGE


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff"])
def test_a_lone_surrogate_does_not_lengthen_the_document(half: str) -> None:
    text = "é漢\U0001f600" * 500
    body = f'{{"model":"m","messages":[{{"role":"user","content":"{text}{half}"}}],"{half}":1}}'.encode()
    asked = do_at_once(read_call(Call.CHAT, Entry("p"), "application/json", body))
    do_at_once(write(asked))
    assert asked.body == body


def test_the_number_of_values_read_at_once_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though all of them are in the last half of what may be one element."""
    marks, decoder = [], runs.DECODER

    def decode(text: str, at: int) -> tuple[Any, int]:
        marks.append(sum(map(text.count, runs.MARKS)))
        found: tuple[Any, int] = decoder.raw_decode(text, at)
        return found

    monkeypatch.setattr(runs, "DECODER", SimpleNamespace(raw_decode=decode))
    texts = ",".join(['"' + "x" * 8000 + '"'] * 263)
    for filler in ("{}", "1"):
        rest = ",".join([filler] * ((runs.MOST_OF_ONE - len(texts) - 3000) // (len(filler) + 1)))
        with pytest.raises(RefusedError) as refused:
            do_at_once(runs.read_in_runs(f'{{"a":[[{texts},{rest}]]}}'.encode()))
        assert refused.value.why is Why.TOO_LARGE
    assert max(marks) <= runs.MOST_VALUES + runs.RUN
