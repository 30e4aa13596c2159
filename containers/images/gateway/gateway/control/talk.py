"""Passes lines between its standard streams and the gateway's socket. The service runs it in the container.

Imports little, and only from the standard library, so that it starts in milliseconds: python3 -I -S talk.py [--ping]
"""

import os
import selectors
import socket
import sys
import time

SOCKET = "/run/gateway/control.sock"
PIECE = 65536
PING = b'{"do":"ping"}\n'
IDLE_FOR = 900
"""Seconds without a line after which the caller counts as gone. The service closes idle connections earlier."""
STARTS_WITHIN = 3.0
"""Seconds to wait for a gateway that is just starting."""
ASK_EVERY = 0.02
UNREACHABLE = 3
"""Exit code if no gateway listens."""


def main(arguments: list[str]) -> int:
    is_ping = "--ping" in arguments
    connection = _connect(time.monotonic() + (0 if is_ping else STARTS_WITHIN))
    if connection is None:
        return UNREACHABLE
    with connection:
        if is_ping:
            connection.settimeout(4)
            return _ping(connection)
        return _carry(connection)


def _connect(until: float) -> socket.socket | None:
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(os.environ.get("GATEWAY_SOCKET", SOCKET))
        except OSError:
            connection.close()
            if time.monotonic() >= until:
                return None
            time.sleep(ASK_EVERY)
        else:
            return connection


def _ping(connection: socket.socket) -> int:
    try:
        connection.sendall(PING)
        return 0 if b'"ok": true' in connection.recv(PIECE) else 1
    except OSError:
        return 1


def _carry(connection: socket.socket) -> int:
    """Ends when the gateway closes the connection: after our input ends and all answers are sent, or when both sides
    are idle.
    """
    with selectors.DefaultSelector() as ready:
        ready.register(0, selectors.EVENT_READ)
        ready.register(connection, selectors.EVENT_READ)
        while came := ready.select(IDLE_FOR):
            for key, _ in came:
                if key.fileobj == 0:
                    piece = os.read(0, PIECE)
                    if piece:
                        connection.sendall(piece)
                    else:
                        ready.unregister(0)
                        connection.shutdown(socket.SHUT_WR)
                else:
                    piece = connection.recv(PIECE)
                    if not piece:
                        return 0
                    _write(piece)
    return 0


def _write(piece: bytes) -> None:
    while piece:
        piece = piece[os.write(1, piece) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
