"""The streams of an exec, as an engine hands them over: a head, and then frames that may be split anywhere."""

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from containers.docker_api.exec_transport import ExecLine
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError

pytestmark = pytest.mark.one_database

UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
LINE = b'{"do":"ping"}\n'


def frame(data: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def ask(stream: socket.socket, until: float) -> bytes:
    line = ExecLine(stream, "c1")
    line.begin("e1", until)
    return line.exchange(LINE, until)


def converse(ends: tuple[socket.socket, socket.socket], *pieces: bytes, within: float = 60) -> tuple[bytes, bytes]:
    """Returns the answer, and what the engine received. The engine sends the pieces one by one and hangs up."""
    ours, theirs = ends
    sent = bytearray()

    def play() -> None:
        while b"}" not in sent:
            sent.extend(theirs.recv(65536))
        for piece in pieces:
            theirs.sendall(piece)
        theirs.settimeout(60)
        while not sent.endswith(LINE) and (more := theirs.recv(65536)):
            sent.extend(more)
        theirs.close()

    engine = threading.Thread(target=play)
    engine.start()
    try:
        return ask(ours, time.monotonic() + within), bytes(sent)
    finally:
        ours.close()
        engine.join()


def test_a_request_line_returns_its_answer(ends: tuple[socket.socket, socket.socket]) -> None:
    answer, sent = converse(ends, UPGRADED, frame(b'{"ok": true}\n'))
    assert answer == b'{"ok": true}\n'
    assert sent.startswith(b"POST /v1.41/exec/e1/start HTTP/1.1\r\n")


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_frames_may_be_split_anywhere_and_only_output_counts(
    ends: tuple[socket.socket, socket.socket], size: int
) -> None:
    data = UPGRADED + frame(b"noise\n", 2) + frame(b'{"ok"') + frame(b"", 1) + frame(b": true}\n")
    answer, _ = converse(ends, *(data[at : at + size] for at in range(0, len(data), size)))
    assert answer == b'{"ok": true}\n'


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ((b"HTTP/1.1 409 Conflict\r\n\r\n",), EngineRefusedError),
        ((b"HTTP/1.1 404 Not Found\r\n\r\n",), EngineRefusedError),
        ((b"x" * 40_000,), EngineUnavailableError),
        ((UPGRADED,), EngineUnavailableError),
        ((UPGRADED, frame(b'{"ok"')), EngineUnavailableError),
        ((UPGRADED, b"HTTP/1.1 500 Oops\r\n\r\n"), EngineUnavailableError),
        ((UPGRADED, struct.pack(">BxxxL", 1, 2**31)), EngineUnavailableError),
    ],
    ids=["stopped", "gone", "endless head", "ended", "cut off", "no frames", "huge"],
)
def test_anything_else_is_an_error_of_the_engine(
    ends: tuple[socket.socket, socket.socket], pieces: tuple[bytes, ...], error: type[EngineError]
) -> None:
    with pytest.raises(error):
        converse(ends, *pieces)


def test_a_silent_engine_is_given_up(ends: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(EngineUnavailableError):
        ask(ends[0], time.monotonic() + 0.05)
