"""The network between the nodes of a Swarm, separate from the machine's network."""

import ctypes
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLONE_NEWNET = 0x40000000
"""The flag of setns(2), for which Python has no function before 3.12."""

SUBNET = "10.99.0"
"""The first three numbers of the addresses on the bridge, which is in a namespace of its own."""


class Hub:
    """The bridge that joins the nodes, in a network namespace that lives as long as this object."""

    def __init__(self) -> None:
        # An address of its own: otherwise it takes another one with each node that comes, which the others learn late.
        script = (
            f"ip link set lo up && ip link add swarm address 02:00:00:00:00:fe type bridge && "
            f"ip address add {SUBNET}.254/24 dev swarm && "
            "ip link set swarm up && echo up && exec sleep infinity"
        )
        self.sockets = ThreadPoolExecutor(1, initializer=self._enter)
        self._process = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"up\n"

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, *words: str) -> None:
        subprocess.run(self.command(*words), check=True)

    def command(self, *words: str) -> list[str]:
        """Returns the command that runs this one in the network of the bridge."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", *words]

    def open_socket(self, family: socket.AddressFamily) -> socket.socket:
        """Returns a socket that reaches the nodes: a socket belongs to the namespace of the thread that opens it."""
        return self.sockets.submit(socket.socket, family, socket.SOCK_STREAM).result()

    def _enter(self) -> None:
        """Moves this thread into the namespace of the bridge, for good."""
        with Path(f"/proc/{self.pid}/ns/net").open("rb") as space:
            assert ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET) == 0

    def close(self) -> None:
        self.sockets.shutdown()
        self._process.kill()
        self._process.communicate()
