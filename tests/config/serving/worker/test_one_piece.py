"""The head of an answer and the first piece of its body leave in one system call."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from config.serving.worker import connections
from tests.config.serving.looping import Looping
from tests.config.serving.worker.application import status_of

Start = Callable[[str, list[tuple[str, str]]], Any]
END = b"GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Broken:
    """A body that fails at once, or after its first piece."""

    closed = 0

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        raise ZeroDivisionError("in the middle")

    def close(self) -> None:
        Broken.closed += 1


def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
    kind = environ["PATH_INFO"].strip("/")
    length = [] if kind in {"chunks", "late", "breaks", "unchanged", "stream"} else [("Content-Length", "6")]
    is_stream = [("Content-Type", "text/event-stream")] if kind == "stream" else []
    start("304 Not Modified" if kind == "unchanged" else "200 OK", length + is_stream)
    bodies: dict[str, Iterable[bytes]] = {
        "plain": [b"abcdef"], "pieces": [b"abc", b"def"], "empty first": [b"", b"abcdef"], "chunks": [b"abc", b"def"],
        "unchanged": [], "late": Broken([b"abc"]), "breaks": Broken([]), "no bytes": ["text"],  # type: ignore[list-item]  # no bytes
        "stream": [b"", b"data: one\n\n"],
    }  # fmt: skip
    return bodies[kind]


@pytest.fixture
def sends(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    made: list[bytes] = []
    real = connections._send

    def send(sock: Any, data: bytes) -> int:
        made.append(bytes(data))
        return real(sock, data)

    monkeypatch.setattr(connections, "_send", send)
    return made


def ask(kind: str) -> bytes:
    server = Looping(application)
    try:
        return server.ask(END.replace(b"{}", kind.replace(" ", "%20").encode()))
    finally:
        server.hang_up()
        server.stop()


@pytest.mark.parametrize(("kind", "calls", "end"), [
    ("plain", 1, b"\r\n\r\nabcdef"), ("pieces", 2, b"\r\n\r\nabcdef"), ("empty first", 2, b"\r\n\r\nabcdef"),
    ("chunks", 3, b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"), ("unchanged", 1, b"\r\n\r\n"),
    ("stream", 3, b"data: one\n\n\r\n0\r\n\r\n"),
])  # fmt: skip
def test_an_answer_needs_a_fixed_number_of_system_calls(sends: list[bytes], kind: str, calls: int, end: bytes) -> None:
    answer = ask(kind)
    assert answer.endswith(end)
    assert answer == b"".join(sends)
    assert len(sends) == calls


@pytest.mark.parametrize(("kind", "end"), [("late", b"\r\n\r\n3\r\nabc\r\n"), ("breaks", None), ("no bytes", b"")])
def test_a_failing_answer_ends_where_it_failed(sends: list[bytes], kind: str, end: bytes | None) -> None:
    """Before its head the answer becomes an error; after that the connection ends. Nothing of it comes later."""
    before = Broken.closed
    answer = ask(kind)
    if end is None:
        assert status_of(answer) == 500
        assert answer.count(b"HTTP/1.1") == 1
    else:
        assert answer.endswith(end)
        assert not answer.endswith(b"0\r\n\r\n")
    assert answer == b"".join(sends)
    assert Broken.closed - before == (kind != "no bytes")


@pytest.mark.parametrize("kind", ["plain", "chunks", "unchanged", "late"])
def test_a_disconnected_client_costs_nothing_and_the_body_is_closed(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def gone(_sock: Any, _data: bytes) -> int:
        raise BrokenPipeError

    before = Broken.closed
    monkeypatch.setattr(connections, "_send", gone)
    assert ask(kind) == b""
    assert Broken.closed - before == (kind == "late")
