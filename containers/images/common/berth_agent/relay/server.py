"""The relay's server on the loopback interface, with one endpoint for Telegram and one for the provider."""

import sys
from collections.abc import Callable
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

from berth_agent.relay.exchange import ChildGoneError, Exchange

Endpoint = Callable[[Exchange], None]


class Relay(ThreadingHTTPServer):
    """Finds the endpoint by the first part of the path. Serves in threads of its own until the process ends."""

    daemon_threads = True

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoints = endpoints
        Thread(target=self.serve_forever, args=(3600,), daemon=True, name="relay").start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """A child that hangs up is no fault. Logs anything else with its traceback."""
        error = sys.exception()
        if not isinstance(error, OSError | HTTPException) and error is not None:
            sys.excepthook(type(error), error, error.__traceback__)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120  # seconds in which a connection may be idle

    def _serve(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.send_error(411)
            return
        exchange = Exchange(self, int(length))
        endpoint = cast(Relay, self.server).endpoints.get(self.path.split("/")[1])
        try:
            if endpoint is None:
                exchange.answer_json(404, {"error": "The relay has no such endpoint."})
            else:
                endpoint(exchange)
        except ChildGoneError:
            self.close_connection = True

    do_GET = do_POST = do_DELETE = do_PUT = do_HEAD = _serve  # noqa: N815 - names of the standard library

    def log_message(self, *_: Any) -> None:
        """Logs nothing, because requests contain what people write."""
