"""A TCP relay in front of a server, on which everything can go wrong."""

import socket
import threading
from contextlib import suppress

from tests.fakes.listening import accept_each, stop_listening
from tests.ports import reserve_port

PAGE = b"<!doctype html><title>Welcome</title><p>Sign in to use this network."
SAID = {
    "garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE,
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
    "endless": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"result": "',
}
"""What comes instead of each answer."""
MODES = ("refuse", "hang", "drip", "half", *SAID)
PIECE = 65_536
DRIP_EVERY = 3.0
"""Seconds between two bytes of an answer."""
ESTABLISHED = 1
"""The state of a connection that both sides hold, as Linux numbers them."""


class Relay:
    """Passes connections on to a port of this machine. `break_` names what happens to them until `heal`.

    refuse: all connections are reset, and none is taken. hang: they are taken, and nothing comes through. drip: an
    answer comes a byte at a time. half: an answer ends in its middle. Those of `SAID`: something else comes in the
    place of each answer, and where it is endless, as fast as it is read.
    """

    def __init__(self, upstream: int, *, drip_every: float = DRIP_EVERY) -> None:
        self.port = reserve_port()
        self.accepted = self.most_open = 0
        """Connections so far, and the most at a time."""
        self._upstream = upstream
        self._drip_every = drip_every
        self._mode = ""
        self._healed = threading.Event()
        self._healed.set()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._callers: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._listen()

    def break_(self, mode: str) -> None:
        assert mode in MODES
        self._mode = mode
        self._healed.clear()
        if mode == "refuse":
            self._refuse()

    def heal(self) -> None:
        self._mode = ""
        self._healed.set()
        if self._listener is None:
            self._listen()

    def close(self) -> None:
        self.heal()
        self._refuse()

    def _listen(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self._listener = listener
        threading.Thread(target=accept_each, args=(listener, self._serve), daemon=True).start()

    def _refuse(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            stop_listening(listener)
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            hang_up(connection)

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._upstream), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        with client, server:
            with self._lock:
                self._open |= {client, server}
                self.accepted += 1
                self._callers.add(client)
                self.most_open = max(self.most_open, sum(map(is_held, self._callers)))
            questions = threading.Thread(target=self._pass_questions, args=(client, server), daemon=True)
            questions.start()
            self._pass_answers(server, client)
            questions.join()
            with self._lock:
                self._open -= {client, server}
                self._callers.discard(client)

    def _pass_questions(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := client.recv(PIECE):
                self._wait_while_hanging()
                server.sendall(piece)
        hang_up(server)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(PIECE):
                self._wait_while_hanging()
                if self._mode == "half":
                    client.sendall(piece[: len(piece) // 2])
                    break
                mode = self._mode
                client.sendall(self._drip(piece, client) if mode == "drip" else SAID.get(mode, piece))
                while mode == "endless" and not self._healed.is_set():
                    client.sendall(b"x" * PIECE)
        hang_up(client)
        hang_up(server)

    def _wait_while_hanging(self) -> None:
        if self._mode == "hang":
            self._healed.wait()

    def _drip(self, piece: bytes, client: socket.socket) -> bytes:
        """Sends the piece byte by byte until the relay is healed. Returns the rest."""
        for sent, byte in enumerate(piece):
            client.sendall(bytes([byte]))
            if self._healed.wait(self._drip_every):
                return piece[sent + 1 :]
        return b""


def is_held(connection: socket.socket) -> bool:
    """Whether the other side has not closed it, which the relay itself may learn much later."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


def hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
