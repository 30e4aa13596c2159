"""Open ports ("doors") that greet callers, and attempts to reach them.
Runs in containers, on the host and in network namespaces."""

import socket
import sys
import threading
from contextlib import suppress

GREETING = b"hello"
PORT = 8199
PATIENCE = 1.0
_IP_PKTINFO = 8  # older Pythons do not name it


def open_door(port: int = PORT) -> str:
    """From now on greets every caller, by TCP or (over IPv4) UDP and at any address of this machine."""
    tcp, udp = _bind(socket.SOCK_STREAM, port), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp.listen(64)
    udp.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
    udp.bind(("", port))
    for serve, door in ((_greet_callers, tcp), (_greet_senders, udp)):
        threading.Thread(target=serve, args=(door,), daemon=True).start()
    return "open"


def knock(address: str, port: int = PORT, kind: str = "tcp") -> str:
    """Returns the greeting, or the reason why there was none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as caller:
            caller.settimeout(PATIENCE)
            caller.connect((address, port))
            caller.sendall(b"GET / HTTP/1.0\r\n\r\n" if kind == "http" else b"?")
            return caller.recv(64).decode()
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def knock_at_all(doors: dict[str, list[object]]) -> dict[str, str]:
    """Returns the result for each door, given as address, port and kind."""
    return {name: knock(str(door[0]), int(str(door[1])), str(door[2])) for name, door in doors.items()}


def _bind(kind: int, port: int) -> socket.socket:
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    door = socket.socket(family, kind)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        door.bind(("", port))
    except OSError:  # a container without IPv6
        door.close()
        door = socket.socket(socket.AF_INET, kind)
        door.bind(("", port))
    return door


def _greet_callers(door: socket.socket) -> None:
    while True:
        caller, _ = door.accept()
        with caller, suppress(OSError):
            caller.sendall(GREETING)
            caller.settimeout(PATIENCE)
            caller.recv(1)


def _greet_senders(door: socket.socket) -> None:
    """Answers from the address that was called: another one would not count as an answer."""
    while True:
        _, said, _, sender = door.recvmsg(64, 64)
        asked = said[0][2][8:12]
        how = (socket.IPPROTO_IP, _IP_PKTINFO, bytes(4) + asked + bytes(4))
        with suppress(OSError):
            door.sendmsg([GREETING], [how], 0, sender)


if __name__ == "__main__":
    open_door(int(sys.argv[1]))
    sys.stdout.write("open\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the process that opened it ends
