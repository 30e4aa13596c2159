"""A service that tells systemd what it does."""

import socket
import threading
from tempfile import mkdtemp

from tests.config.serving.served import PATIENCE, Served, children_of

PATIENT = 3 * PATIENCE


class Notified:
    """systemd's end of the socket, which is always read, because the kernel keeps only ten messages."""

    def __init__(self) -> None:
        self.path = f"{mkdtemp(prefix='bn-')}/notify"
        self._heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while (line := self._socket.recv(4096).decode().partition("\n")[0]) != "end":
            self._heard.append(line)

    def heard(self) -> list[str]:
        """The first line of each message, without the signs of life."""
        return [line for line in self._heard if line != "WATCHDOG=1"]

    @property
    def signs_of_life(self) -> int:
        return self._heard.count("WATCHDOG=1")

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"end", self.path)
        self._reader.join()
        self._socket.close()


def core(served: Served) -> set[int]:
    """Returns the processes that stay, without the watcher's short-lived children that set rules."""
    return {served.web, served.watcher, *children_of(served.web)}
