"""A server instead of Redis that answers in every hostile way. `NEVER_ENDING` and `WRONG` name all of them."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from typing import Any

Talk = Callable[[], Iterator[bytes]]
PAUSE = b""
EVERY = 0.02
"""Seconds between two bytes of a dripping answer: far below the limit, so that no single read takes too long."""

NEVER_ENDING: dict[str, Talk] = {
    "silence": lambda: repeat(PAUSE),
    "a byte now and then": lambda: (piece for _ in repeat(0) for piece in (b"1", PAUSE)),
    "a number now and then": lambda: (piece for piece in [b":", *[b"1", PAUSE] * 100_000]),
    "half an answer": lambda: iter([b"$100\r\nab", *[PAUSE] * 100_000]),
    "an endless line": lambda: repeat(b"+" + b"x" * 65_536),
    "an endless bulk": lambda: (b"$1000000000\r\n" if not number else b"x" * 65_536 for number in range(1_000_000)),
    "endless lists": lambda: repeat(b"*1\r\n" * 1000),
    "endless pushes": lambda: repeat(b">2\r\n+a\r\n+b\r\n" * 1000),
}
WRONG: dict[str, Talk] = {
    "nothing": lambda: iter(()),
    "HTTP": lambda: iter([b"HTTP/1.1 400 Bad Request\r\n\r\n"]),
    "a number of letters": lambda: repeat(b":abc\r\n", 20),
    "a number of 5000 digits": lambda: repeat(b":" + b"9" * 5000 + b"\r\n", 20),
    "a length of letters": lambda: repeat(b"$abc\r\n", 20),
    "a negative length": lambda: repeat(b"$-5\r\n", 20),
    "an unknown type": lambda: repeat(b"\xff\xfe\r\n", 20),
    "words": lambda: repeat(b"+OK\r\n", 20),
    "null": lambda: repeat(b"_\r\n", 20),
    "a list": lambda: repeat(b"*2\r\n:1\r\n:2\r\n", 20),
    "a map": lambda: repeat(b"%1\r\n+a\r\n:1\r\n", 20),
    "infinity": lambda: repeat(b",inf\r\n", 20),
    "no": lambda: repeat(b"-ERR no\r\n", 20),
    "still loading": lambda: repeat(b"-LOADING Redis is loading the dataset in memory\r\n", 20),
    "a standby": lambda: repeat(b"-READONLY You can't write against a read only replica.\r\n", 20),
    "zero": lambda: repeat(b":0\r\n", 20),
}


class HostileRedis:
    def __init__(self, talk: Talk, tls: ssl.SSLContext | None = None) -> None:
        self._talk, self._tls = talk, tls
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._start(self._serve, connection)

    def _serve(self, found: socket.socket) -> None:
        with found, suppress(OSError):
            found.settimeout(60)
            connection = self._tls.wrap_socket(found, server_side=True) if self._tls else found
            with connection:
                for piece in self._talk():
                    if self._stopped.is_set():
                        return
                    if piece:
                        connection.sendall(piece)
                    elif self._stopped.wait(EVERY):
                        return
                connection.recv(1)

    def close(self) -> None:
        self._stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(60)
