"""The port that the web server listens on."""

import errno
import socket

from django.core.management.base import CommandError


def is_taken(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    error = _try_to_listen(host, port)
    return error is not None and error.errno == errno.EADDRINUSE


def require_free_port(host: str, port: int) -> None:
    """Raises `CommandError`, with a sentence that says why, where this process cannot listen there."""
    if error := _try_to_listen(host, port):
        reason = error.strerror or str(error)
        raise CommandError(
            f"Berth cannot listen on {host}:{port} ({reason}). Set BERTH_HOST or BERTH_PORT to a free address."
        )


def _try_to_listen(host: str, port: int) -> OSError | None:
    """Returns why this process cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error
    return None
