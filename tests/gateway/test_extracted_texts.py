"""A long text reaches the provider unchanged, and is checked and counted like a short one."""

import json
import random
from typing import Any

import pytest
from gateway.entries.entry import Entry
from gateway.providers import extracted_texts
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.rewriting import write_body
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError

pytestmark = pytest.mark.one_database

PIECES = ["a", "QUJD", " ", '"', "\\", "\\" * 99, "\n", "\x01", "é", "漢", "\U0001f600", "\ud83d", "\ude00", '","b":[']
JUNK = [
    b"\n", b"\x00", b"\\x", b"\\u12", b"\\u12g4", b"\xff", b"\xc0\xa2", b"\xed\xa0\x80", b"\xe6\xbc", b"\xf0\x9f\x98",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extracted_texts, "LONG", 40)
    monkeypatch.setattr(extracted_texts, "MIN_EXTRACTED", 40)


def read(body: bytes) -> ParsedCall:
    parsed = run_at_once(read_call(Call.CHAT, Entry("p"), "application/json", body))
    run_at_once(write_body(parsed))
    return parsed


def make_text(chance: random.Random) -> str:
    return "".join(chance.choices(chance.sample(PIECES, 4), k=chance.choice([3, 30, 300])))


def make_value(chance: random.Random, depth: int = 3) -> Any:
    kind = chance.randrange(4 if depth else 2)
    if kind == 2:
        return {make_text(chance): make_value(chance, depth - 1) for _ in range(3)}
    return [make_value(chance, depth - 1) for _ in range(3)] if kind == 3 else make_text(chance)


def test_a_document_with_any_texts_is_written_as_it_was_read() -> None:
    chance, lifted = random.Random(11), 0
    for number in range(400):
        document = {"model": "m", "messages": [], "a": make_value(chance), "b": make_text(chance)}
        body = json.dumps(document, ensure_ascii=number % 2 == 0).encode(errors="surrogatepass")
        try:
            expected = json.loads(body)
            body.decode()
        except UnicodeDecodeError:  # an unescaped half surrogate pair, which is not UTF-8
            continue
        parsed = read(body)
        assert json.loads(parsed.body) == expected
        lifted += len(parsed.texts._texts)
    assert lifted > 400


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_an_invalid_long_text_is_refused_at_any_place(junk: bytes) -> None:
    for before in (0, 34, 38, 40, 41, 80, 200):
        with pytest.raises(RefusedError):
            read(b'{"model":"m","messages":[],"a":"%b%b%b"}' % (b"x" * before, junk, b"x" * 99))


def test_a_placeholder_is_measured_like_its_text() -> None:
    picture, sound, file = "data:image/png;base64," + "QUJD" * 99_999, "QUJD" * 60_000, "JVBERi" + "QUJD" * 500
    parts = [
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "input_audio", "input_audio": {"data": sound}},
        {"type": "file", "file": {"file_data": file}},
        {"type": "text", "text": picture},
    ]
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}]}).encode()
    parsed = read(body)
    assert len(parsed.texts._texts) == 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extracted_texts, "LONG", 10**9)
        assert parsed.input == read(body).input
    assert json.loads(parsed.body) == json.loads(body)


def test_a_long_name_of_a_model_is_refused() -> None:
    with pytest.raises(RefusedError):
        read(b'{"messages":[],"model":"%b"}' % (b"m" * 300))


def test_guessing_a_placeholder_is_useless() -> None:
    name = extracted_texts.ExtractedTexts().add(memoryview(b""), "a", 1)
    body = json.dumps({"model": "m", "messages": [], name: name, "b": [name, "x" * 99]}).encode()
    assert json.loads(read(body).body) == json.loads(body)
