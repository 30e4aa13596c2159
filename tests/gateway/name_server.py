"""A name server that containers can ask, while `fake_internet` lasts."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.containers.firewall.fake_internet import NEAR_END


@contextmanager
def names(**addresses: str) -> Iterator[None]:
    """Runs a name server that knows these names below example.org and answers that no other name exists."""

    def answer(question: bytes) -> bytes:
        labels, at = [], 12
        while size := question[at]:
            labels.append(question[at + 1 : at + 1 + size].decode())
            at += size + 1
        is_known = labels[1:] == ["example", "org"] and labels[0] in addresses
        wants_address = question[at + 1 : at + 3] == b"\0\1"
        flags = b"\x81\x80" if is_known else b"\x81\x83"
        record = b""
        if is_known and wants_address:
            record = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(addresses[labels[0]])
        counts = bytes([0, 1, 0, bool(record), 0, 0, 0, 0])
        return question[:2] + flags + counts + question[12 : at + 5] + record

    def serve(door: socket.socket) -> None:
        while not is_over.is_set():
            with suppress(TimeoutError):
                question, asker = door.recvfrom(2048)
                door.sendto(answer(question), asker)

    is_over = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(0.1)
        door.bind((NEAR_END, 53))
        thread = threading.Thread(target=serve, args=(door,))
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
