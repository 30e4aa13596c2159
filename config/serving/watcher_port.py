"""A port of its own for a watcher that runs without a web server: its health and its metrics.

A thread of the watcher answers, so a watcher that stands still answers nobody.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_double
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections
from django.http import HttpResponse, JsonResponse

from accounts.http import is_asked_here, is_loopback
from config.metrics.view import metrics

logger = logging.getLogger("berth.serve")

MOST = 8
"""Clients at a time. Further ones are refused."""

KEPT = 4
"""Further places for clients on this machine: a health check that gets no answer would end the watcher."""

PATIENCE = 5.0
"""Seconds for each piece of a request, and of its answer."""

WHOLE = 15.0
"""Seconds for a whole connection. `/metrics` waits for the database for some of them."""

AGAIN = 0.5
"""Seconds after which a port that was not available is tried again."""

View = Callable[[WSGIRequest], HttpResponse]


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def version_string(self) -> str:
        return "berth"  # otherwise refusals of the standard library reveal the version of Python

    def log_message(self, *_: object) -> None:
        """Logs nothing, because health checks come every few seconds."""


class WatcherPort(ThreadingMixIn, WSGIServer):
    """Raises `OSError` if the port is not available."""

    address_family = socket.AF_INET
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True

    def __init__(self, host: str, port: int, due: c_double) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._due = due
        self._places, self._kept = threading.BoundedSemaphore(MOST), threading.BoundedSemaphore(KEPT)
        self._views: dict[str, View] = {"/healthz": self._report_health, "/metrics": self._report_metrics}
        super().__init__((host, port), _Handler)
        self.set_app(self._answer)

    def server_bind(self) -> None:
        """Skips the look-up of the host's name with which the standard library begins."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "watcher", self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        places = self._places_of(client_address)
        if not places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            connections.close_all()
            self._places_of(client_address).release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Reads until the time is over, however often a piece arrives."""
        deadline = threading.Timer(WHOLE, _shut, [request])
        deadline.daemon = True
        deadline.start()
        try:
            super().finish_request(request, client_address)
        finally:
            deadline.cancel()
            deadline.join()  # before the socket is closed and its number belongs to another

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has left is no fault, and `_answer` has reported all else."""

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        try:
            view = self._views.get(environ.get("PATH_INFO", ""))
            answer = _not_found() if view is None else view(WSGIRequest(environ))
        except Exception:
            logger.exception("The watcher could not answer.")
            answer = HttpResponse("Something broke.\n", status=500, content_type="text/plain")
        answer["Content-Length"] = str(len(answer.content))
        answer["Cache-Control"] = "no-store"
        answer["Server"] = "berth"  # otherwise the standard library reveals the version of Python
        answer["X-Content-Type-Options"] = "nosniff"
        start_response(f"{answer.status_code} {HTTPStatus(answer.status_code).phrase}", list(answer.items()))
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [answer.content]

    def _report_health(self, _request: WSGIRequest) -> HttpResponse:
        """Answers 200 while nothing in the watcher is overdue, whether it leads or waits for its turn."""
        hangs = time.monotonic() > self._due.value
        return JsonResponse({"status": "unavailable" if hangs else "ok"}, status=503 if hangs else 200)

    def _report_metrics(self, request: WSGIRequest) -> HttpResponse:
        """No proxy is in front of this port: BERTH_TRUSTED_PROXIES counts those of the web server."""
        may_read = settings.BERTH_METRICS_TOKEN or is_asked_here(request)
        return metrics(request) if may_read else _not_found()

    def _places_of(self, client_address: Any) -> threading.BoundedSemaphore:
        return self._kept if is_loopback(client_address[0]) else self._places


def _not_found() -> HttpResponse:
    return HttpResponse("Not found.\n", status=404, content_type="text/plain")


def _shut(request: socket.socket) -> None:
    with suppress(OSError):  # the client has left
        request.shutdown(socket.SHUT_RDWR)


def open_watcher_port(due: c_double) -> None:
    """Serves if a port is set, and works without the port. `due`: by then the watcher will have shown that it lives."""
    if settings.BERTH_ROLE == "watcher" and settings.BERTH_WATCHER_PORT:
        threading.Thread(target=_listen, args=(due,), name="watcher port", daemon=True).start()


def _listen(due: c_double) -> None:
    """Serves once no other process does: at a handover the next watcher begins before the previous one ends."""
    host, port, waits = settings.BERTH_HOST, settings.BERTH_WATCHER_PORT, False
    while True:
        try:
            server = WatcherPort(host, port, due)
        except OSError as error:
            if not waits:
                log = "The watcher cannot report its health: it cannot listen on %s:%s (%s). It keeps trying."
                logger.warning(log, host, port, error.strerror or error)
            waits = True
            time.sleep(AGAIN)
        else:
            if waits:
                logger.info("The watcher listens on %s:%s now.", host, port)
            server.serve_forever()
            return
