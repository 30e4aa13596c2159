"""A log is followed over one answer of the engine, no matter how long its agent is silent."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import requests

from containers.docker_api import silence
from containers.docker_api.logs import Follower
from containers.errors import EngineUnavailableError

PATIENCE = 0.05
STAMP = "2026-01-01T00:00:0{0}.000000000Z "

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def frame(number: int, text: bytes = b"line\n") -> bytes:
    payload = STAMP.format(number).encode() + text
    return struct.pack(">BxxxL", 1, len(payload)) + payload


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Engine:
    """Sends what it is told to, one piece at a time, and counts requests."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked = 0
        self.peer: Any = None
        self.peers: list[socket.socket] = []
        self._asked = threading.Semaphore(0)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # at the end of the test
            while True:
                peer = self.listener.accept()[0]
                self.peers.append(peer)
                peer.recv(65536)
                self.peer, self.asked = peer, self.asked + 1
                peer.sendall(HEAD)
                self._asked.release()

    def open(self, _params: Any) -> requests.Response:
        port = self.listener.getsockname()[1]
        answer = requests.get(f"http://127.0.0.1:{port}/logs", stream=True, timeout=(5, self.patience))
        assert self._asked.acquire(timeout=5)
        return answer

    def send(self, data: bytes) -> None:
        self.peer.sendall(data)


@pytest.fixture
def patience() -> float:
    return PATIENCE


@pytest.fixture
def engine(patience: float) -> Iterator[Engine]:
    made = Engine(patience)
    yield made
    made.listener.close()
    for peer in made.peers:
        peer.close()


@pytest.fixture
def lines(engine: Engine) -> Iterator[Iterator[bytes]]:
    followed: Any = Follower(engine.open, tail=None, since=None).lines()
    yield followed
    followed.close()


def test_silences_and_lines_alternate_in_one_answer(engine: Engine, lines: Iterator[bytes]) -> None:
    assert [next(lines), next(lines)] == [b"", b""]
    for number in range(3):
        engine.send(chunk(frame(number)))
        told = [next(lines), next(lines)]
        assert [line for line in told if line] == [STAMP.format(number).encode() + b"line"], told
    engine.send(b"0\r\n\r\n")
    assert [line for line in lines if line] == []
    assert engine.asked == 1


@pytest.mark.parametrize("patience", [5.0])  # a machine may be busy
@pytest.mark.parametrize("cut", range(1, len(chunk(frame(1, b"\n"))), 3))
def test_a_line_in_two_pieces_is_returned_once_and_whole(engine: Engine, lines: Iterator[bytes], cut: int) -> None:
    """No matter where it is cut, even if only line ends are left."""
    whole = chunk(frame(1, b"\n"))
    engine.send(chunk(frame(0)))
    assert next(lines)
    engine.send(whole[:cut])
    rest = threading.Timer(PATIENCE / 5, engine.send, [whole[cut:]])
    rest.start()
    told = next(line for line in lines if line)
    rest.join()
    assert told == STAMP.format(1).encode()


def test_a_broken_answer_is_an_error(engine: Engine, lines: Iterator[bytes]) -> None:
    assert next(lines) == b""
    engine.peer.close()
    with pytest.raises(EngineUnavailableError):
        list(lines)


def test_after_a_long_silence_the_engine_is_asked_again(
    engine: Engine, lines: Iterator[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an engine that has vanished would be waited for forever."""
    monkeypatch.setattr(silence, "SILENCES", 2)
    assert [next(lines) for _ in range(4)] == [b""] * 4
    assert engine.asked == 2
