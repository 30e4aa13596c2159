"""Which nodes are known to live: a Swarm itself notices only after some fifteen seconds that one is dead.

Each daemon of a Swarm listens on the port of its gossip. One that has answered there before and does so no more is
lost, whatever the manager still believes. Where a firewall keeps us from that port, the manager's word is all there is.
"""

import errno
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from containers.swarm.nodes import Node

GOSSIP_PORT = 7946

WITHIN = 0.5
"""Seconds for all nodes together to take a connection."""

BELIEVED_FOR, LOST_FOR = 0.25, 2.0
"""Seconds for which a look counts at which all have answered, and one at which some have not: that takes its time."""


class Liveness:
    """Serves all threads of a process. Where two look at once, both do; neither waits for the other."""

    def __init__(self, list_nodes: Callable[[], Sequence[Node]]) -> None:
        self._list_nodes = list_nodes
        self._until = 0.0
        self._heard: frozenset[str] = frozenset()
        self._lost: frozenset[str] = frozenset()

    def lost(self) -> frozenset[str]:
        """The ids of the nodes of whose tasks nothing is known. Raises `EngineError`."""
        if time.monotonic() >= self._until:
            self._look(self._list_nodes())
        return self._lost

    def _look(self, nodes: Sequence[Node]) -> None:
        answering = find_answering({node.node_id: node.address for node in nodes if node.address})
        self._heard |= answering
        there = {node.node_id for node in nodes}
        self._lost = self._heard & there - answering | {node.node_id for node in nodes if not node.is_ready}
        self._until = time.monotonic() + (LOST_FOR if self._heard & there - answering else BELIEVED_FOR)


def find_answering(addresses: Mapping[str, str]) -> set[str]:
    """The ids of the nodes that take a connection at their address."""
    waiting: dict[int, tuple[str, socket.socket]] = {}
    try:
        for node, address in addresses.items():
            with suppress(OSError):
                begun = _begin(address)
                waiting[begun.fileno()] = node, begun
        return _await(waiting)
    finally:
        for _, begun in waiting.values():
            begun.close()


def open_socket(family: socket.AddressFamily) -> socket.socket:
    return socket.socket(family, socket.SOCK_STREAM)


def _begin(address: str) -> socket.socket:
    begun = open_socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    begun.setblocking(False)  # noqa: FBT003 - the signature of socket
    if (code := begun.connect_ex((address, GOSSIP_PORT))) not in {0, errno.EINPROGRESS}:
        begun.close()
        raise OSError(code, "It cannot be reached.")
    return begun


def _await(waiting: Mapping[int, tuple[str, socket.socket]]) -> set[str]:
    found: set[str] = set()
    poll, open_ones = select.poll(), set(waiting)
    for each in open_ones:
        poll.register(each, select.POLLOUT)
    until = time.monotonic() + WITHIN
    while open_ones and (left := until - time.monotonic()) > 0:
        for each, _ in poll.poll(left * 1000):
            poll.unregister(each)
            open_ones.discard(each)
            node, begun = waiting[each]
            if begun.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                found.add(node)
    return found
