"""An upload that the gateway refuses while Telegram already receives it gets the gateway's reason."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from containers.gateway.entries import BotEntry, Entry, new_virtual_token
from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.process import PATIENCE
from tests.gateway.tunnelling import ALICE, Running, run_gateway

pytestmark = pytest.mark.one_database

MOST = 200_000
CHUNK = b"%x\r\n%b\r\n" % (MOST - 50_000, b"x" * (MOST - 50_000))


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr("gateway.telegram.call.LARGEST_UPLOAD", MOST)
    monkeypatch.setattr("gateway.pipes.guard.SILENCE", 0.2)
    yield from run_gateway(tmp_path, monkeypatch)


@pytest.fixture
def telegram() -> Iterator[str]:
    """The address of a server that reads without an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept_each, args=(listening, read), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        stop_listening(listening)


def read(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        while connection.recv(65536):
            pass


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 2, 413, "larger", id="too many chunks"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK, 400, "did not come", id="chunks that stop"),
        pytest.param(
            b"Content-Length: %d\r\n\r\n%b" % (MOST, CHUNK), 400, "did not come", id="less than was announced"
        ),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK + b"z\r\n", 400, "did not come", id="no chunk"),
    ],
)
def test_an_upload_that_ends_in_a_refusal_gets_its_reason(
    running: Running, telegram: str, body: bytes, status: int, words: str
) -> None:
    virtual = new_virtual_token(1)
    bot = BotEntry(virtual_token=virtual, token="1:realTOKENrealTOKEN", base=telegram)
    running.control.apply(version=1, entries=[Entry(project="alice", address=ALICE, bot=bot)])
    with socket.create_connection(("127.0.0.1", running.port), PATIENCE, (ALICE, 0)) as connection:
        connection.sendall(f"POST /tg/bot{virtual}/sendDocument HTTP/1.1\r\nHost: a\r\n".encode() + body)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == status
        assert words in json.loads(answer.read())["description"]
