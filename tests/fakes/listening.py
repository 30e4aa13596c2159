"""What the fakes that listen on a socket have in common."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


def accept_each(listener: socket.socket, serve: Callable[[socket.socket], object]) -> None:
    """Serves each connection in a thread of its own. Returns once the listener is closed."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def stop_listening(listener: socket.socket) -> None:
    """Closes the listener, and ends `accept_each`, which closing alone would leave waiting."""
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
