"""An HTTP server on a port of its own, which can be stopped and started again to stage an outage."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fakes.messages import Answer, Request, Streamed

LARGEST_BODY = 32 << 20


class FakeServer:
    """A threaded HTTP server. `stop` and then `start` use the same port, so that a test can simulate an outage."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.requests: list[tuple[str, str]] = []  # (method, path) of everything that came; memory only
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> Self:
        self.closing.clear()
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        self.closing.set()
        with self.changed:
            self.changed.notify_all()
        server.shutdown()
        server.hang_up()
        server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def answer(self, request: Request) -> Answer | None:
        """Returns the answer, or None to drop the connection."""
        raise NotImplementedError

    def hang(self, request: Request, healed: Callable[[], bool] = lambda: False) -> None:
        while not (self.closing.wait(0.05) or request.gone() or healed()):
            pass

    def serve(self) -> None:
        """Runs in the foreground until interrupted, for the command lines."""
        with self, suppress(KeyboardInterrupt):
            print(f"listening on {self.url}", flush=True)  # noqa: T201 - the command line's one line of output
            while True:
                time.sleep(3600)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, fake: FakeServer) -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((fake.host, fake.port), _Handler)

    def server_bind(self) -> None:
        """Avoids HTTPServer's reverse DNS lookup, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends kept-alive connections, whose threads would otherwise wait forever for another request."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that hang up. A fault of the fake itself is answered with a 599."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    server: _Server

    def _serve(self) -> None:
        fake = self.server.fake
        parts = urlsplit(self.path)
        body = self.rfile.read(min(int(self.headers.get("content-length") or 0), LARGEST_BODY))
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(self.command, unquote(parts.path), query, headers, body, self._gone)
        fake.requests.append((self.command, request.path))
        try:
            answer = fake.answer(request)
        except Exception as error:  # noqa: BLE001 - a fault of the fake must be seen by the test, as an answer
            answer = Answer.json(599, {"fake": repr(error)})
        if answer is None or fake.closing.is_set():
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer, Streamed):
            if "Transfer-Encoding" not in answer.headers:
                self.send_header("Transfer-Encoding", "chunked")
            self._stream(answer.pieces)
            return
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _stream(self, pieces: Iterable[bytes]) -> None:
        """Sends chunks. If the pieces end with an OSError, omits the last chunk, so that the answer is visibly
        incomplete.
        """
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        finally:
            if callable(close := getattr(pieces, "close", None)):
                close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve  # noqa: N815 - http.server's names

    def _gone(self) -> bool:
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def log_message(self, *args: object) -> None:
        """Logs nothing, because request lines contain bot tokens."""
