"""Opens the socket that listens for agents, before the rest of the gateway is imported.

Connections wait in the kernel's queue while the gateway imports its modules, while it waits for the lock on its state,
and while a killed process is replaced. If they were refused instead, agents would retry only after a second or more,
and after twice as long each next time.
"""

import socket

from gateway.config import Config

_FREEBIND = 15
"""IP_FREEBIND of Linux (ip(7)): the address may be assigned later, with its network. It needs no privilege."""
QUEUE = 1024


def listen(config: Config) -> socket.socket | None:
    """Returns None if the port is still in use or the host is not a valid address; `open_gateway` tries again later."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_IP, _FREEBIND, 1)
        listening.bind((config.host, config.port))
        listening.listen(QUEUE)
    except OSError:
        listening.close()
        return None
    listening.setblocking(False)  # noqa: FBT003 - a name that the library takes no other way
    return listening
