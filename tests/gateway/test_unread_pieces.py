"""Pieces that are passed on before they are read end up as if each had been read first."""

import json
import random
from collections.abc import Callable, Generator
from itertools import pairwise
from typing import Any

import pytest
from gateway.meters.anthropic import MessagesMeter
from gateway.meters.document_meter import BlindMeter, DocumentMeter
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.meters.usage import Usage
from gateway.pipes.leak_detector import LeakDetector
from gateway.pipes.piece_filter import BrokenError, ExceededError, PieceFilter
from gateway.rules.rates import SECONDS_FOR_A_PIECE

pytestmark = pytest.mark.one_database

SECRET = "sk-the-real-one"
METERS: dict[str, Callable[[], Meter]] = {
    "chat": ChatMeter,
    "chat, hidden usage": lambda: ChatMeter(hide_usage=True),
    "chat, reasoning": lambda: ChatMeter(hide_usage=True, may_reason=True),
    "messages": MessagesMeter,
    "responses": ResponsesMeter,
    "document": lambda: DocumentMeter(read_openai_usage),
    "blind": BlindMeter,
}
TEXTS = (
    "word ",
    "a",
    "many words of a longer text " * 3,
    "",
    "\n\n",
    "}\n\n",
    "字字",
    "é",
    "usage",
    '"usage": null',
    "\\u0075",
    "x" * 300,
)
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "input_tokens": 7, "output_tokens": 5}
DOCUMENTS: tuple[Callable[[str], object], ...] = (
    lambda text: {"choices": [{"delta": {"content": text}}], "model": "model-a"},
    lambda text: {"choices": [{"delta": {"content": text}}], "usage": None},
    lambda text: {"choices": [{"delta": {"content": text, "reasoning": text, "audio": text}}, {"text": text}]},
    lambda text: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
    lambda text: {"type": "message_start", "message": {"model": "claude-a", "usage": USAGE}, "text": text},
    lambda text: {"type": "message_delta", "usage": USAGE, "text": text},
    lambda text: {"type": "response.output_text.delta", "delta": text},
    lambda text: {"type": "response.completed", "response": {"usage": USAGE, "model": text}},
    lambda _text: {"choices": [], "usage": USAGE},
    lambda _text: {"choices": [], "usage": None},
    lambda text: [text],
    lambda text: text,
)
ENDS = ("\n\n", "\n\n", "\n\n", "\n\n", "\r\n\r\n", "\n", "\r\r", "\n\n\n", "")


class Limit:
    """Ends an answer that certainly has more tokens than this, like the service does if the budget has no room."""

    def __init__(self, meter: Meter, tokens: int) -> None:
        self._meter = meter
        self._tokens = tokens

    def check(self) -> bytes:
        return b"the end" if self._meter.exceeds(self._tokens) else b""

    def bytes_before_check(self) -> int:
        return self._meter.bytes_below(self._tokens)


def write_piece(chance: random.Random) -> bytes:
    data = ""
    for _ in range(chance.choice([1, 1, 1, 1, 2, 5])):
        document = chance.choice(DOCUMENTS)(chance.choice(TEXTS))
        text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
        if chance.random() < 0.1:
            text = text.replace("usage", "\\u0075sage")
        name = chance.choice(["", "", "event: e\n", ": a comment\n\n"])
        data += f"{name}data: {text}{chance.choice(ENDS)}"
    piece = data.encode(errors="surrogatepass")
    return piece if chance.random() < 0.9 else piece[: chance.randrange(len(piece))] or b"d"


def pass_one_by_one(pieces: list[bytes], make: Callable[[], Meter], tokens: int) -> tuple[bytes, Meter]:
    meter, passed = make(), b""
    for piece in pieces:
        part = meter.feed(piece)
        if last := Limit(meter, tokens).check():
            return passed + part[: max(0, len(part) - meter.unfinished)] + last, meter
        passed += part
    return passed + meter.finish(), meter


class Passing:
    """Passes pieces as the relay does, and counts those that were passed unread."""

    def __init__(self, meter: Meter, tokens: int = 10**9) -> None:
        self.meter = meter
        self.paid: list[tuple[int, float]] = []
        self.piece_filter = PieceFilter(LeakDetector(SECRET), meter, self._pay, Limit(meter, tokens))
        self.unread = 0

    def _pay(self, size: int, seconds: float = 0.0, /) -> float:
        self.paid.append((size, seconds + SECONDS_FOR_A_PIECE))
        return 0.0

    @property
    def paid_size(self) -> int:
        return sum(size for size, _ in self.paid)

    def take(self, pieces: list[bytes]) -> Generator[bytes, None, None]:
        try:
            for piece in pieces:
                if self.piece_filter.passes_unread(piece):
                    self.unread += 1
                    yield piece
                    continue
                yield self.piece_filter.feed(piece)
                self.piece_filter.pay(len(piece))
            yield self.piece_filter.finish()
        except ExceededError as error:
            yield error.last
        finally:
            self.piece_filter.close()


def facts(meter: Meter) -> list[Any]:
    bound = Usage(1000, 1000)
    return [meter.usage, meter.model, meter.least_tokens(), meter.likely_tokens(), meter.final(bound),
            meter.estimate(bound)]  # fmt: skip


@pytest.mark.parametrize("name", METERS)
def test_an_answer_is_passed_counted_and_cut_as_if_each_piece_had_been_read_first(name: str) -> None:
    chance, unread, cut = random.Random(name), 0, 0
    for _ in range(400):
        pieces = [write_piece(chance) for _ in range(chance.randint(1, 60))]
        tokens = chance.choice([3, 20, 100, 10**9])
        passing = Passing(METERS[name](), tokens)
        expected, meter = pass_one_by_one(pieces, METERS[name], tokens)
        assert b"".join(passing.take(pieces)) == expected
        assert facts(passing.meter) == facts(meter)
        unread += passing.unread
        cut += expected.endswith(b"the end")
    assert (unread > 100) == (cut > 20) == (name not in ("document", "blind"))


def test_a_long_answer_is_read_at_least_once_in_so_many_bytes() -> None:
    piece = b'data: {"choices": [{"delta": {"content": "word"}}]}\n\n'
    passing, reads = Passing(ChatMeter()), list[int]()
    for _ in passing.take([piece] * 1000):
        reads.append(passing.meter.likely_tokens())
    gaps = [after - before for before, after in pairwise(reads)]
    assert 10 < max(gaps) <= 4096 // len(piece) + 1


def test_each_piece_is_charged_once() -> None:
    piece = b'data: {"choices": []}\n\n'
    passing = Passing(ChatMeter())
    passed = b"".join(passing.take([piece] * 777))
    assert (passed, passing.paid_size) == (piece * 777, len(piece) * 777)
    assert sum(seconds for _, seconds in passing.paid) >= 776 * SECONDS_FOR_A_PIECE
    assert len(passing.paid) < 77


def test_an_abandoned_answer_is_read_and_charged_to_where_it_was_passed() -> None:
    piece = b'data: {"choices": [{"delta": {"content": "word"}}]}\n\n'
    passing = Passing(ChatMeter())
    taking = passing.take([piece] * 100)
    for _ in range(30):
        next(taking)
    taking.close()
    assert passing.meter.likely_tokens() == 30
    assert passing.paid_size == 30 * len(piece)


@pytest.mark.parametrize("pieces", [
    [b'data: {"a": "sk-the-real-one"}\n\n'],
    [b"data: {}\n\n", b'data: {"a": "sk-the-real-one"}\n\n'],
    [b"data: {}\n\n", b"data: sk-the-", b"real-one", b"data: {}\n\n"],
    [b"data: {}\n\n", b"data: {}\n\n" * 3, b'data: {"a": "sk-the', b'-real-one"}\n\n'],
])  # fmt: skip
def test_a_credential_is_never_passed_whole(pieces: list[bytes]) -> None:
    passed: list[bytes] = []
    with pytest.raises(BrokenError):
        passed.extend(Passing(ChatMeter()).take([b"data: {}\n\n", *pieces]))
    assert SECRET.encode() not in b"".join(passed)


@pytest.mark.parametrize("size", range(1, 20))
def test_a_credential_of_two_lines_is_found_in_two_pieces(size: int) -> None:
    text = b"data: {}\n\none\ntwo\n\n"
    detector = LeakDetector("one\ntwo")
    assert any(detector.is_completed_by(text[at : at + size]) for at in range(0, len(text), size))
