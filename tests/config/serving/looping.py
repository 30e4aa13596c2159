"""A worker of the web server that runs in a thread of the test, with an application of the test."""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.config import Config

from config.pause_detection import PauseDetector
from config.serving.worker import worker
from config.serving.worker.worker import BufferingWorker
from tests.waiting import wait_until

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
GUARD = 30.0

TICKS = PauseDetector()
"""Where workers of tests tick. Otherwise the last tick of one would tell all later tests that this process stands
still."""
vars(worker)["PAUSE_DETECTOR"] = TICKS


class SilentWorker(BufferingWorker):
    def notify(self) -> None:
        """No arbiter would miss it."""


class Looping:
    def __init__(self, application: Application, *, threads: int = 2) -> None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.address = listener.getsockname()
        config = Config()
        for name, value in {"threads": threads, "keepalive": 5, "graceful_timeout": 5}.items():
            config.set(name, value)
        self.worker = SilentWorker(0, os.getppid(), [listener], None, 30, config, logging.getLogger("gunicorn.error"))
        self.worker.wsgi = application
        self.worker.PIPE = os.pipe()
        for end in self.worker.PIPE:
            os.set_blocking(end, False)
        self.worker.set_up()
        self._clients: list[socket.socket] = []
        self._is_stopped = False
        self._thread = threading.Thread(target=self.worker.run, name="loop")
        self._thread.start()

    def connect(self, data: bytes = b"", *, receive_buffer: int | None = None) -> socket.socket:
        """Connects a client that has sent this. It is closed at the end."""
        client = socket.socket()
        self._clients.append(client)
        client.settimeout(GUARD)
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.connect(self.address)
        client.sendall(data)
        return client

    def ask(self, data: bytes) -> bytes:
        with self.connect(data) as client:
            return read_all(client)

    @property
    def open_connections(self) -> int:
        return len(self.worker.clients.connections)

    def wait_for_connections(self, number: int) -> None:
        wait_until(lambda: self.open_connections == number, what=lambda: f"{self.open_connections} connections")

    def stop(self) -> None:
        """Stops as after SIGTERM. May be called again."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if self._thread.is_alive():
            self.worker.alive = False
            self.worker.loop.call_soon(lambda: None)
        self._thread.join(GUARD)
        assert not self._thread.is_alive()
        self.worker.tmp.close()
        for end in self.worker.PIPE:
            os.close(end)

    def hang_up(self) -> None:
        for client in self._clients:
            client.close()


def read_all(client: socket.socket) -> bytes:
    """Returns everything until the server closes the connection."""
    received = bytearray()
    while piece := client.recv(65536):
        received += piece
    return bytes(received)
