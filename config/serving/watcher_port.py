"""What a watcher that runs alone tells at a port of its own: whether it is at work, and its metrics.

It has no web server beside it that could. A thread of the watcher answers: one that stands still answers nobody.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable
from ctypes import c_double
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections
from django.http import HttpResponse, JsonResponse

from config.metrics.view import metrics

logger = logging.getLogger("berth.serve")

MOST = 8
"""Who asks at a time. Further ones are sent away."""

PATIENCE = 5.0
"""Seconds for a request to come, and for its answer to go."""

View = Callable[[WSGIRequest], HttpResponse]


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def log_message(self, *_: object) -> None:
        """Nothing: somebody asks every few seconds."""


class WatcherPort(ThreadingMixIn, WSGIServer):
    """Raises `OSError` where the port cannot be had."""

    address_family = socket.AF_INET
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True
    allow_reuse_port = True  # the next one begins before the former one ends, at a hand-over

    def __init__(self, host: str, port: int, due: c_double) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._due, self._places = due, threading.BoundedSemaphore(MOST)
        self._views: dict[str, View] = {"/healthz": self._tell_health, "/metrics": metrics}
        super().__init__((host, port), _Handler)
        self.set_app(self._answer)

    def server_bind(self) -> None:
        """Without the look-up of the host's name that the standard library begins with."""
        if hasattr(socket, "SO_REUSEPORT"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "watcher", self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            connections.close_all()
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has left is no fault, and all else `_answer` has told."""

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        try:
            view = self._views.get(environ.get("PATH_INFO", ""))
            answer = (
                HttpResponse("Not found.\n", status=404, content_type="text/plain")
                if view is None
                else (view(WSGIRequest(environ)))
            )
        except Exception:
            logger.exception("The watcher could not answer.")
            answer = HttpResponse("Something broke.\n", status=500, content_type="text/plain")
        answer["Content-Length"] = str(len(answer.content))
        answer["Cache-Control"] = "no-store"
        answer["Server"] = "berth"  # else the standard library tells which Python this is
        answer["X-Content-Type-Options"] = "nosniff"
        start_response(f"{answer.status_code} {HTTPStatus(answer.status_code).phrase}", list(answer.items()))
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [answer.content]

    def _tell_health(self, _request: WSGIRequest) -> HttpResponse:
        """200 while nothing that the watcher does is overdue, whether it leads or waits for its turn."""
        hangs = time.monotonic() > self._due.value
        return JsonResponse({"status": "unavailable" if hangs else "ok"}, status=503 if hangs else 200)


def open_watcher_port(due: c_double) -> None:
    """Where a port is set. `due`: by then the watcher will have shown that it lives. Where it cannot, it goes on."""
    port = settings.BERTH_WATCHER_PORT
    if settings.BERTH_ROLE != "watcher" or not port:
        return
    try:
        server = WatcherPort(settings.BERTH_HOST, port, due)
    except OSError as error:
        log = "The watcher tells nobody how it is: it cannot listen on %s:%s (%s)."
        logger.error(log, settings.BERTH_HOST, port, error.strerror or error)  # noqa: TRY400 - says it all
        return
    threading.Thread(target=server.serve_forever, name="watcher port", daemon=True).start()
