"""A Docker socket that fails as configured: it hangs, drips, breaks off, reports errors, sends nonsense."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.fakes.hostile_answers import SHAPES
from tests.fakes.hostile_server import send
from tests.fakes.listening import accept_each, stop_listening

HEAD = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
VERSION = b'{"ApiVersion": "%s", "Version": "20.10"}'


class FaultySocket:
    """Answers every request with `body` and `status`, in the manner of `mode`; `/version` is answered properly.

    Modes: answer, hang (never a byte), drip (a byte every `pause`), drip-head (the same from the first byte of the
    head on), cut (half of the body, then the end), close (no answer, then the end), and every name in `SHAPES`, for
    which `body` is the honest answer.

    `script` has answers of their own, (mode, status, body), for requests like "POST /containers/create"; of several for
    the same request each is given once, and the last for ever.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mode, self.status, self.body, self.pause = "answer", 200, b"OK", 0.2
        self.requests: list[str] = []
        self.api = "1.41"
        self.script: dict[str, list[tuple[str, int, bytes]]] = {}
        self._stopped = threading.Event()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(64)
        self._thread = threading.Thread(target=accept_each, args=(self._server, self._serve), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def close(self) -> None:
        self._stopped.set()
        stop_listening(self._server)
        self._thread.join(10)

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            while request := self._read_request(connection):
                self.requests.append(request)
                if request.split()[1] == "/version":
                    version = VERSION % self.api.encode()
                    connection.sendall(HEAD % (200, len(version)) + version)
                elif not self._misbehave(connection, *self._choose(request)):
                    return

    def _read_request(self, connection: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return ""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        missing = int(length[1]) - len(body) if length else 0
        while missing > 0 and (piece := connection.recv(65536)):
            missing -= len(piece)
        return head.split(b"\r\n")[0].decode()

    def _choose(self, request: str) -> tuple[str, int, bytes]:
        method, target, _ = request.split()
        path = re.sub(r"^/v[\d.]+", "", target.partition("?")[0])
        answers = self.script.get(f"{method} {path}")
        if not answers:
            return self.mode, self.status, self.body
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _misbehave(self, connection: socket.socket, mode: str, status: int, body: bytes) -> bool:
        """Answers in this mode. Returns whether the connection stays open."""
        head = HEAD % (status, len(body))
        if mode in SHAPES:
            send(connection, SHAPES[mode](body), self._stopped)
            return False
        if mode == "answer":
            connection.sendall(head + body)
            return True
        if mode == "hang":
            self._stopped.wait(240)
        elif mode == "cut":
            connection.sendall(head + body[: len(body) // 2])
        elif mode == "drip":
            connection.sendall(head)
            self._drip(connection, body)
        elif mode == "drip-head":
            self._drip(connection, head + body)
        return False

    def _drip(self, connection: socket.socket, data: bytes) -> None:
        for index in range(len(data)):
            if self._stopped.is_set():
                return
            connection.sendall(data[index : index + 1])
            time.sleep(self.pause)


@contextmanager
def faulty_socket(directory: Path) -> Iterator[FaultySocket]:
    server = FaultySocket(directory / "docker.sock")
    try:
        yield server
    finally:
        server.close()
