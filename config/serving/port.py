"""The port that the web server listens on."""

import errno
import os
import socket

from django.conf import settings
from django.core.management.base import CommandError

from config.serving.roles import Role


def bind_port(host: str, port: int, *, inherited: int | None = None) -> socket.socket:
    """Returns a socket of this port that does not listen yet. Raises `CommandError`, which says why there is none.

    `inherited` is the descriptor of a listening socket: it is used if it has the same address, and closed otherwise.
    """
    if inherited is not None and (taken := _take(inherited, host, port)) is not None:
        return taken
    try:
        return _bind(host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            f"Berth cannot listen on {host}:{port} ({reason}). Set BERTH_HOST or BERTH_PORT to a free address."
        ) from None


def require_free_port(host: str, port: int) -> None:
    """Raises `CommandError`, with a sentence that says why, if this process cannot listen there."""
    bind_port(host, port).close()


def require_port_of_role() -> None:
    """The same for this installation's own port. A watcher alone needs none."""
    if Role(settings.BERTH_ROLE).serves:
        require_free_port(settings.BERTH_HOST, settings.BERTH_PORT)


def is_taken(host: str, port: int) -> bool:
    """Returns whether another process listens there."""
    try:
        _bind(host, port).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def _bind(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def _take(descriptor: int, host: str, port: int) -> socket.socket | None:
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - the standard library's own
    found = socket.socket(fileno=descriptor)
    try:
        wanted = socket.getaddrinfo(host, port, found.family, socket.SOCK_STREAM)
    except OSError:
        wanted = []
    if any(each[4][:2] == found.getsockname()[:2] for each in wanted):
        return found
    found.close()
    return None
