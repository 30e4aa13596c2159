"""The web server: gunicorn with our own worker, whose threads wait for the engine and never for clients."""

import gc
import os
import signal
import socket
from ctypes import c_int
from functools import partial
from typing import Any

from django.conf import settings
from django.core.servers.basehttp import get_internal_wsgi_application
from django.urls import get_resolver
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from config.metrics.shared import begin_to_count
from config.serving.fallback_alerts import FallbackAlerts
from config.serving.worker_shortage import refuse_all
from containers.processes.tracing import begin_to_trace


class PlainLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Leaves format and destination to Django's logging."""

    def setup(self, cfg: Any) -> None:
        self.cfg = cfg
        self._access_log_enabled = False
        self.error_log.setLevel("INFO")
        self.error_log.propagate = True


class WebServer(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """Serves the WSGI application until it gets SIGTERM or SIGINT.

    It listens on its own socket unless it is given one, and sets `booted` when a worker can serve. `succeeds`: until
    then another web server still serves on the same socket.
    """

    def __init__(
        self, listener: socket.socket | None = None, booted: c_int | None = None, *, succeeds: bool = False
    ) -> None:
        self._listener, self._booted, self._succeeds = listener, booted, succeeds
        super().__init__()

    def load_config(self) -> None:
        given: dict[str, Any] = {}
        if self._listener is not None:
            given["bind"] = f"fd://{self._listener.detach()}"
        if self._booted is not None:
            given["post_worker_init"] = partial(_begin, self._booted)
        for name, value in (server_options() | given).items():
            self.cfg.set(name, value)

    def run(self) -> None:
        arbiter = SteadyArbiter(self)
        arbiter.took_over = self._booted if self._succeeds else None
        arbiter.run()

    def load(self) -> Any:
        """Imports everything that answers requests, once, before the workers are forked.

        These objects stay until the end, so the garbage collector need not look through them again and again.
        """
        application = get_internal_wsgi_application()
        get_resolver().url_patterns  # noqa: B018 - imports every view
        gc.collect()
        gc.freeze()
        return application


class SteadyArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Ends on signals and does nothing else on them: `serve` decides how many workers there are and starts new ones."""

    has_no_room = False
    """Whether the system had no room for a process when a worker was last to be started."""

    took_over: c_int | None = None
    """If another web server serves on the same socket until a worker of this one does: 1 from then on."""

    def init_signals(self) -> None:
        super().init_signals()
        for name in ("HUP", "TTIN", "TTOU", "USR1", "USR2", "WINCH"):
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)

    def spawn_worker(self) -> Any:
        """Continues if the system has no room for another process. The arbiter tries again every second."""
        self.has_no_room = False
        try:
            return super().spawn_worker()
        except OSError as error:
            if os.getpid() != self.pid:
                os._exit(1)  # a worker that could not begin: it must not continue as a second arbiter
            self.has_no_room = True
            self.log.error("A worker cannot be started: %s. It is tried again.", error.strerror)  # noqa: TRY400 - says it all
            return None

    def wait_for_signals(self, timeout: float = 1.0) -> Any:
        """If no worker is left and none can be started, the arbiter itself refuses each request meanwhile."""
        serves_alone = self.took_over is None or bool(self.took_over.value)
        if self.has_no_room and serves_alone and not self.WORKERS:
            refuse_all(self.LISTENERS, seconds=timeout, is_over=lambda: not self.SIG_QUEUE.empty())
            timeout = 0.0
        return super().wait_for_signals(timeout)


def _begin(booted: c_int, worker: Any) -> None:
    begin_to_count("web")
    begin_to_trace("web", version=settings.BERTH_VERSION)
    booted.value = 1
    worker.begin_when_possible(FallbackAlerts().start)


def server_options() -> dict[str, Any]:
    host = f"[{settings.BERTH_HOST}]" if ":" in settings.BERTH_HOST else settings.BERTH_HOST
    return {
        "bind": f"{host}:{settings.BERTH_PORT}",
        "worker_class": "config.serving.worker.worker.BufferingWorker",
        "workers": settings.BERTH_WORKERS,
        "threads": settings.BERTH_THREADS,
        "timeout": settings.BERTH_WORKER_TIMEOUT,
        "graceful_timeout": settings.BERTH_GRACE,
        "keepalive": 5,
        "preload_app": True,
        "control_socket_disable": True,
        "logger_class": PlainLogger,
        "accesslog": None,
        "limit_request_line": 4094,
        "limit_request_fields": 64,
        # The service itself decides which proxies it trusts (BERTH_TRUSTED_PROXIES).
        "forwarded_allow_ips": "",
        "proc_name": settings.BERTH_INSTANCE,
    }
