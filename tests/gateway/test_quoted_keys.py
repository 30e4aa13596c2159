"""The real key does not reach an agent, however an upstream writes it into its answer."""

import bz2
import gzip
import http.client
import json
import lzma
import time
import zlib
from collections.abc import Callable

import pytest
from aiohttp.http_writer import _serialize_headers
from gateway.pipes.redaction import redact
from gateway.rules.allowlist import answer_headers
from multidict import CIMultiDict

from tests.fakes.messages import Answer as FakeAnswer
from tests.fakes.messages import Streamed
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("query", ["", "?", "?limit=1", "?order=a&limit=1", "?unknown=1"])
@pytest.mark.parametrize("path", ["key", "auth/key"])
def test_facts_about_a_key_lose_the_part_of_it_that_they_quote(
    alice: Agent, provider: StreamingProvider, path: str, query: str
) -> None:
    alice.gateway.apply(alice.entry(kind="openrouter"))
    label = f"sk-or-v1-{alice.key[3:18]}...{alice.key[-3:]}"
    provider.answer_with = FakeAnswer.json(200, {"data": {"label": label, "usage": 1}})
    answer = alice.ask("GET", f"/llm/v1/{path}{query}", headers=alice.login)
    assert (answer.status, answer.json()["data"]["usage"]) == (200, 1)
    assert b"CANARY" not in answer.body


def escaped(text: str, pattern: str = "\\u%04x") -> str:
    return "".join(pattern % ord(each) for each in text)


@pytest.mark.parametrize("status", [401, 400, 500])
@pytest.mark.parametrize(
    "write",
    [
        escaped,
        lambda key: escaped(key, "\\u%04X"),
        lambda key: escaped(key, "\\\\u%04x"),
        lambda key: key.replace("-", "\\u002d"),
        lambda key: key[:9] + escaped(key[9:20]) + key[20:],
        lambda key: key.replace("/", "\\/"),
    ],
    ids=["all", "capital digits", "in quoted JSON", "one character", "a part", "slashes"],
)
def test_an_error_loses_a_key_whose_letters_are_escaped(
    alice: Agent, provider: StreamingProvider, write: Callable[[str], str], status: int
) -> None:
    alice.key = "sk-CANARY/key-CANARY/key-CANARYkey"
    alice.gateway.apply(alice.entry())
    body = f'{{"error":{{"message":"Incorrect API key: {write(alice.key)} \\u0022so\\u0022 \\u00e9 \\\\"}}}}'
    provider.answer_with = FakeAnswer(status, body.encode(), {"Content-Type": "application/json"})
    answer = alice.chat()
    assert (answer.status, b"CANARY" in answer.body) == (status, False)
    said = answer.json()["error"]["message"]
    assert "CANARY" not in said.encode().decode("unicode_escape", "replace")
    assert said.startswith("Incorrect API key: ")
    assert said.endswith(' "so" \u00e9 \\')


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_an_error_in_another_encoding_loses_the_key(encoding: str) -> None:
    body = json.dumps({"error": "Incorrect API key: canary key; try sk-anotherkeyanotherkey"}).encode(encoding)
    said = redact(body, ["canary key"])
    assert "Incorrect API key: [redacted]; try [redacted]" in said
    for each in ("utf-8", encoding):
        assert "canary" not in said.encode().decode(each, "replace")


def test_a_header_with_the_key_in_its_name_or_value_is_left_out(alice: Agent, provider: StreamingProvider) -> None:
    alice.key = "sk-CANARY/key+CANARYkey"
    alice.gateway.apply(alice.entry())
    quoted = "sk-CANARY%2Fkey%2BCANARYkey"
    for status in (200, 429):
        headers = {"X-RateLimit-Limit": "9", f"x-ratelimit-{quoted}": "1", f"x-ratelimit-{quoted.lower()}": "1"}
        headers |= {"X-Request-Id": alice.key, "ETag": quoted, "Openai-Model": alice.key.upper()}
        provider.answer_with = FakeAnswer(status, b"{}", headers)
        answer = alice.chat()
        assert (answer.status, answer.headers["x-ratelimit-limit"]) == (status, "9")
        assert "canary" not in str(answer.headers).lower()


TRANSFERS = ("gzip, chunked", "deflate, chunked", "GZIP,chunked", "br, chunked", "gzip")


@pytest.mark.parametrize("transfer", TRANSFERS)
@pytest.mark.parametrize("status", [200, 401])
def test_a_transfer_in_another_coding_is_blocked(
    alice: Agent, provider: StreamingProvider, transfer: str, status: int
) -> None:
    packed = gzip.compress(json.dumps({"key": alice.key}).encode())
    headers = {"Content-Type": "application/octet-stream", "Transfer-Encoding": transfer}
    provider.answer_with = Streamed(status, b"", headers, pieces=[packed])
    answer = alice.chat(max_tokens=300)
    assert answer.status in (502, status if status >= 400 else 502)
    assert packed not in answer.body
    assert alice.settled()["output"] == (300 if status == 200 else 0)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "deflate": zlib.compress, "fast": lambda body: zlib.compress(body, 1),
    "raw": lambda body: zlib.compressobj(wbits=-15).compress(body) + b"\xff", "xz": lzma.compress, "bz2": bz2.compress,
    "utf-16": lambda body: body.decode().encode("utf-16"), "utf-16-le": lambda body: body.decode().encode("utf-16-le"),
    "utf-32-be": lambda body: body.decode().encode("utf-32-be"),
}  # fmt: skip


@pytest.mark.parametrize("coding", ["identity", None])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream; charset=utf-8", "application/problem+json"])
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_packed_answer_whose_head_calls_it_plain_is_cut_off(
    alice: Agent, provider: StreamingProvider, pack: Callable[[bytes], bytes], kind: str, coding: str | None
) -> None:
    headers = {"Content-Type": kind} | ({"Content-Encoding": coding} if coding else {})
    provider.answer_with = FakeAnswer(200, pack(json.dumps({"key": alice.key}).encode()), headers)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        alice.chat(max_tokens=300)
    assert alice.settled()["estimated"] == 1


@pytest.mark.parametrize("first", [1, 2, 3, 20])
def test_text_in_any_language_passes_in_any_pieces(alice: Agent, provider: StreamingProvider, first: int) -> None:
    whole = "\u65e5\u672c \U0001f600".encode() * 400
    pieces = [whole[:first], *(whole[at : at + 7] for at in range(first, len(whole), 7))]
    provider.answer_with = Streamed(200, b"", {"Content-Type": "text/event-stream"}, pieces=pieces)
    assert alice.chat(stream=True).body == whole


def test_files_and_sounds_may_have_any_bytes(alice: Agent, provider: StreamingProvider) -> None:
    for kind in ("audio/mpeg", "application/octet-stream", "application/gzip"):
        provider.answer_with = FakeAnswer(200, gzip.compress(bytes(9)), {"Content-Type": kind})
        assert alice.chat(path="audio/speech", input="a", voice="a").body == provider.answer_with.body


@pytest.mark.parametrize("name", ["etag", "x-request-id", "X-RateLimit-A", "content-disposition"])
def test_a_header_that_http_forbids_is_left_out(name: str) -> None:
    """aiohttp refuses to write it, and the agent would get no answer."""
    for code in range(256):
        value = f"a{chr(code)}b"
        try:
            _serialize_headers("HTTP/1.1 200 OK", CIMultiDict({name: value}))
        except ValueError:
            assert answer_headers([(name, value)], ()) == []
        else:
            assert answer_headers([(name, value)], ()) == [(name, value)]


PIECES = (
    "\\",
    "\\\\u004",
    "\\u0041",
    "\\\0",
    "\0",
    "u00",
    "a",
    "1:",
    "sk-",
    "eyJ",
    "eyJa.b",
    "://a:",
    "bearer ",
    "@",
    "\u00e9",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("after", ["", *PIECES])
@pytest.mark.parametrize("piece", PIECES)
def test_the_time_to_redact_an_error_is_proportional_to_its_length(piece: str, after: str) -> None:
    """Upstreams choose the text: 64 KiB of backslashes once took a hundred seconds, in which no agent was served."""

    def seconds_for(size: int) -> float:
        body, began = ((piece + after) * size)[:size].encode(), time.process_time()
        redact(body, ("sk-CANARY/key-CANARY",))
        return time.process_time() - began

    assert min(seconds_for(16_000) for _ in range(3)) < 80 * max(min(seconds_for(1_000) for _ in range(3)), 0.0002)
