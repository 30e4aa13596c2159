"""A Docker socket on which everything goes wrong as told: it hangs, drips, breaks off, fails, talks nonsense."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HEAD = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
VERSION = b'{"ApiVersion": "1.41", "Version": "20.10"}'


class FaultySocket:
    """Answers every request with `body` and `status`, in the manner of `mode`; `/version` is answered properly.

    Modes: answer, hang (never a byte), drip (a byte every `pause`), drip-head (the same from the first byte of the
    head on), cut (half of the body, then the end), close (no answer, then the end).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mode, self.status, self.body, self.pause = "answer", 200, b"OK", 0.2
        self.requests: list[str] = []
        self._stopped = threading.Event()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def close(self) -> None:
        self._stopped.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            while request := self._read_request(connection):
                self.requests.append(request)
                if request.split()[1] == "/version":
                    connection.sendall(HEAD % (200, len(VERSION)) + VERSION)
                elif not self._misbehave(connection):
                    return

    def _read_request(self, connection: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return ""
            data += piece
        return data.split(b"\r\n")[0].decode()

    def _misbehave(self, connection: socket.socket) -> bool:
        """Answer in the mode; whether the connection goes on."""
        head, body = HEAD % (self.status, len(self.body)), self.body
        if self.mode == "answer":
            connection.sendall(head + body)
            return True
        if self.mode == "hang":
            self._stopped.wait(30)
        elif self.mode == "cut":
            connection.sendall(head + body[: len(body) // 2])
        elif self.mode == "drip":
            connection.sendall(head)
            self._drip(connection, body)
        elif self.mode == "drip-head":
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
