"""TCP ports for servers that a test starts.

python -m tests.ports     prints a port that stays reserved until this process is ended
"""

import atexit
import signal
import socket
import sys

_reservations: list[socket.socket] = []


def reserve_port() -> int:
    """Returns a port of 127.0.0.1 that no other process is given until this one ends.

    A socket stays bound to it without listening. The kernel then offers the port to nobody who asks for any free one,
    while a server that names it and sets SO_REUSEADDR, as all servers here do, may listen on it.
    """
    reservation = socket.socket()
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reservation.bind(("127.0.0.1", 0))
    _reservations.append(reservation)
    port: int = reservation.getsockname()[1]
    return port


@atexit.register
def _release() -> None:
    for reservation in _reservations:
        reservation.close()


if __name__ == "__main__":
    sys.stdout.write(f"{reserve_port()}\n")
    sys.stdout.flush()
    signal.pause()
