"""A reverse proxy on a Unix socket before the real Docker engine, which goes wrong in ten ways when told to.

One request for each connection: the answer is passed on until the engine ends it.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.fakes.changed_moments import Clock
from tests.fakes.listening import accept_each, stop_listening
from tests.fakes.raw_http import PIECE, as_answer, read_request

MODES = ("refuse", "hang", "hang in mid-body", "drip", "lost", "500", "404", "409", "bad json", "delay")
"""All modes except refuse, hang and the three refusals let the engine carry out the request."""


class FaultyDocker:
    """Works correctly until `break_` is called, and again after `heal`. `delay` and `pause` are in seconds."""

    def __init__(self, path: Path, *, delay: float = 5.0, pause: float = 0.2) -> None:
        self.path, self.delay, self.pause = path, delay, pause
        self.requests: list[str] = []
        self.clock: Clock | None = None
        self._engine = urlsplit(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
        self._mode, self._only, self._healthy_for = "", "", 0
        self._lock = threading.Lock()
        self._healed = threading.Event()
        self._streams: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._listen()

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def break_(self, mode: str, *, after: int = 0, only: str = "") -> None:
        """Fails in this way from now on, or after this many good answers; only at paths that contain `only`."""
        assert mode in MODES
        self._healed.clear()
        with self._lock:
            self._mode, self._only, self._healthy_for = mode, only, after
        if mode == "refuse" and not after:
            self._refuse()

    def heal(self) -> None:
        with self._lock:
            self._mode = ""
        self._healed.set()
        if self._listener is None:
            self._listen()

    def cut_streams(self) -> int:
        """Cuts every answer in progress, and returns their number. Streams of events are always in progress."""
        with self._lock:
            streams, self._streams = self._streams, set()
        for stream in streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        return len(streams)

    def close(self) -> None:
        self.cut_streams()
        self.heal()
        self._refuse()

    def _listen(self) -> None:
        self.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.path))
        listener.listen(128)
        self._listener = listener
        threading.Thread(target=accept_each, args=(listener, self._serve), daemon=True).start()

    def _refuse(self) -> None:
        """The socket file stays, but nothing listens."""
        listener, self._listener = self._listener, None
        if listener is not None:
            stop_listening(listener)

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(120)
            request = read_request(connection)
            if not request:
                return
            first_line = request.split(b"\r\n")[0].decode()
            self.requests.append(first_line)
            mode = self._take_mode(first_line)
            if mode == "refuse":
                self._refuse()
            elif mode:
                getattr(self, f"_{mode.replace(' ', '_').replace('-', '_')}", self._say_no(mode))(connection, request)
            elif b"\r\nupgrade:" in request.lower():
                self._carry(connection, request)
            else:
                self._pass_on(request, connection.sendall)

    def _take_mode(self, first_line: str) -> str:
        with self._lock:
            if self._only not in first_line:
                return ""
            if self._mode and self._healthy_for:
                self._healthy_for -= 1
                return ""
            return self._mode

    # -- the ways to go wrong -----------------------------------------------------------------------------------------
    def _hang(self, _connection: socket.socket, _request: bytes) -> None:
        self._healed.wait()

    def _hang_in_mid_body(self, connection: socket.socket, request: bytes) -> None:
        answer = self._ask(request)
        connection.sendall(answer[: len(answer) // 2])
        self._healed.wait()

    def _drip(self, connection: socket.socket, request: bytes) -> None:
        for byte in self._ask(request):
            connection.sendall(bytes([byte]))
            if self._healed.wait(self.pause):
                return

    def _lost(self, _connection: socket.socket, request: bytes) -> None:
        self._ask(request)

    def _say_no(self, status: str) -> Callable[[socket.socket, bytes], None]:
        def answer(connection: socket.socket, _request: bytes) -> None:
            connection.sendall(as_answer(status, b'{"message": "The proxy says no."}'))

        return answer

    def _bad_json(self, connection: socket.socket, request: bytes) -> None:
        self._ask(request)
        connection.sendall(as_answer("200", b'{"half": '))

    def _delay(self, connection: socket.socket, request: bytes) -> None:
        self._healed.wait(self.delay)
        self._pass_on(request, connection.sendall)

    # -- the engine ---------------------------------------------------------------------------------------------------
    def _ask(self, request: bytes) -> bytes:
        pieces: list[bytes] = []
        self._pass_on(request, pieces.append)
        return b"".join(pieces)

    def _pass_on(self, request: bytes, write: Callable[[bytes], object]) -> None:
        with self._connect() as engine:
            engine.settimeout(120)
            with self._lock:
                self._streams.add(engine)
            try:
                engine.sendall(self.clock.request(request) if self.clock else request)
                while piece := engine.recv(PIECE):
                    write(clock.answer(piece) if (clock := self.clock) else piece)
            finally:
                with self._lock:
                    self._streams.discard(engine)

    def _carry(self, connection: socket.socket, request: bytes) -> None:
        """Passes bytes in both directions, because the request asks the engine for a program's streams."""

        def feed() -> None:
            with suppress(OSError):
                while piece := connection.recv(PIECE):
                    engine.sendall(piece)
                engine.shutdown(socket.SHUT_WR)

        with self._connect() as engine:
            engine.sendall(request)
            feeding = threading.Thread(target=feed, daemon=True)
            feeding.start()
            with suppress(OSError):
                while piece := engine.recv(PIECE):
                    connection.sendall(piece)
            connection.shutdown(socket.SHUT_RDWR)
            feeding.join()

    def _connect(self) -> socket.socket:
        if self._engine.scheme == "unix":
            engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            engine.connect(self._engine.path)
            return engine
        return socket.create_connection((self._engine.hostname or "", self._engine.port or 2375))


@contextmanager
def faulty_docker(directory: Path, *, delay: float = 5.0) -> Iterator[FaultyDocker]:
    proxy = FaultyDocker(directory / "faulty.sock", delay=delay)
    try:
        yield proxy
    finally:
        proxy.close()
