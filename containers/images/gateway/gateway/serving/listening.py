"""The socket at which agents are listened to, open before the rest of the gateway is there.

What comes while the rest is imported, while a gateway waits for its turn, and while a process that was killed is
followed by another one, waits in the kernel's queue. An agent that is refused instead comes again after a second or
more, and after twice as long the next time.
"""

import socket

from gateway.config import Config

_FREEBIND = 15
"""IP_FREEBIND of Linux (ip(7)): the address may come later, with its network. It takes no right."""
QUEUE = 1024


def listen(config: Config) -> socket.socket | None:
    """None where that is for later: somebody else still has the port, or the host is none that can be listened to."""
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
