"""The machine's name server, which knows the names of the servers on which the service depends."""

import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

DOMAIN = "chaos.test"
PORT = 53
RESOLVER = Path("/etc/resolv.conf")
MODES = ("refuse", "hang", "failing", "unknown", "garbage", "slow")
SLOW = 3.0
"""Seconds until a slow one answers, which is less than clients wait."""
_OK, _FAILED, _UNKNOWN = b"\x81\x80", b"\x81\x82", b"\x81\x83"
_ADDRESS = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton("127.0.0.1")
"""A record with a lifetime of zero seconds, so that nobody remembers it."""


class NameServer:
    """Knows every name below `DOMAIN` as this machine, until `break_`, and again after `heal`.

    refuse: nobody listens. hang: no question is answered. failing: the server cannot tell. unknown: there is no such
    name. garbage: what comes is no answer. slow: it comes late. Only what runs in this process's own file system
    asks it.
    """

    def __init__(self, home: Path) -> None:
        self._mode = ""
        self._door: socket.socket | None = None
        self._listen()
        mine = home / "resolv.conf"
        mine.write_text("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--bind", str(mine), str(RESOLVER)], check=True)

    def break_(self, mode: str) -> None:
        assert mode in MODES
        self._mode = mode
        if mode == "refuse":
            self._stop_listening()

    def heal(self) -> None:
        self._mode = ""
        if self._door is None:
            self._listen()

    def close(self) -> None:
        subprocess.run(["umount", str(RESOLVER)], check=True)
        self._stop_listening()

    def _listen(self) -> None:
        self._door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._door.bind(("127.0.0.1", PORT))
        threading.Thread(target=self._serve, args=(self._door,), daemon=True).start()

    def _stop_listening(self) -> None:
        door, self._door = self._door, None
        if door is not None:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)  # wakes the thread, although it was never connected
            door.close()

    def _serve(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                question, asker = door.recvfrom(2048)
                if not asker:
                    return
                answer = answer_to(question, self._mode)
                if answer:
                    threading.Timer(SLOW if self._mode == "slow" else 0.0, send, (door, answer, asker)).start()


def send(door: socket.socket, answer: bytes, asker: tuple[str, int]) -> None:
    with suppress(OSError):  # it was closed meanwhile
        door.sendto(answer, asker)


def answer_to(question: bytes, mode: str = "") -> bytes:
    """Returns an empty answer if there is none."""
    if mode == "hang":
        return b""
    if mode == "garbage":
        return question[:2] + b"\xff" * 30
    labels, at = [], 12
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode())
        at += size + 1
    is_known = ".".join(labels).endswith(f".{DOMAIN}")
    flags = {"failing": _FAILED, "unknown": _UNKNOWN}.get(mode, _OK if is_known else _UNKNOWN)
    has_address = flags == _OK and question[at + 1 : at + 3] == b"\0\1"
    counts = bytes([0, 1, 0, has_address, 0, 0, 0, 0])
    return question[:2] + flags + counts + question[12 : at + 5] + (_ADDRESS if has_address else b"")
