"""A name server that resolves each name to this machine, and can fall silent."""

import socket
import struct
import threading
from pathlib import Path
from random import randrange

PORT = 53
A = 1
HEAD = 12
"""Bytes of a message before its question."""
FOUND = struct.pack("!HHHLH4B", 0xC00C, A, 1, 0, 4, 127, 0, 0, 1)


class NameServer:
    """Has an address of this machine's own, of which there are millions. Binding the port needs root."""

    def __init__(self, folder: Path) -> None:
        self._address = (f"127.{randrange(1, 255)}.{randrange(256)}.{randrange(1, 255)}", PORT)
        self.is_silent = False
        self.unanswered = 0
        self.resolv_conf = folder / "resolv.conf"
        self.resolv_conf.write_text(f"nameserver {self._address[0]}\n")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(self._address)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            question, address = self._socket.recvfrom(4096)
            if not question:
                return
            if self.is_silent:
                self.unanswered += 1
            else:
                self._socket.sendto(answer(question), address)

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", self._address)
        self._thread.join(60)
        self._socket.close()


def answer(question: bytes) -> bytes:
    """RFC 1035, 4.1: the question, and this machine's address if an IPv4 address was requested."""
    end = question.index(b"\0", HEAD) + 5
    (kind,) = struct.unpack("!H", question[end - 4 : end - 2])
    records = FOUND if kind == A else b""
    head = question[:2] + struct.pack("!5H", 0x8180, 1, 1 if records else 0, 0, 0)
    return head + question[HEAD:end] + records
