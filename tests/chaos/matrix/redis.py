"""A Redis of an installation's own, which may be ended, stopped and restarted."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import reserve_port
from tests.waiting import wait_until


def find_redis() -> str | None:
    """Returns the path of the program, or None if it is not installed."""
    return shutil.which("redis-server")


class PrivateRedis:
    def __init__(self, home: Path) -> None:
        self.port = reserve_port()
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._home)]
        program = find_redis()
        assert program
        self._process = subprocess.Popen(
            [program, *options], stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}
        )
        wait_until(self._answers, within=60)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100) == b"+PONG\r\n"
        except OSError:
            return False

    @contextmanager
    def talk(self) -> Iterator[Callable[[str], None]]:
        """Opens a connection that no relay breaks. Returns a function that sends a command over it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:

            def tell(command: str) -> None:
                connection.sendall(f"{command}\r\n".encode())
                answer = connection.recv(1000)
                assert not answer.startswith(b"-"), answer

            yield tell

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        """Also ends a stopped one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
