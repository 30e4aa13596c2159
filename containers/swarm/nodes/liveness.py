"""Finds out which nodes are alive, because a Swarm itself notices a dead node only after about fifteen seconds.

Each Swarm daemon listens on its gossip port. A node that has answered there before and fails to answer twice counts as
lost, even if the manager considers it alive. If a firewall blocks that port, only the manager's word counts. The same
is true if our own process cannot ask, for example because it has no file descriptors left.
"""

import errno
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from containers.swarm.nodes.nodes import Node

GOSSIP_PORT = 7946

WITHIN = 0.5
"""Seconds for all nodes together to accept a connection. A lost packet delays one by a second, so silent nodes are
asked again."""

_SAID_BY_NETWORK = {errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT}
"""Errors of a connection that say something about the node. All others are problems of our own machine."""

BELIEVED_FOR, LOST_FOR = 0.25, 2.0
"""Seconds for which a check counts if all nodes answered, and if some did not, because asking silent nodes takes
time."""


class Liveness:
    """Serves all threads of a process. If two threads check at once, both ask; neither waits for the other."""

    def __init__(self, list_nodes: Callable[[], Sequence[Node]]) -> None:
        self._list_nodes = list_nodes
        self._until = 0.0
        self._heard: frozenset[str] = frozenset()
        self._silent: frozenset[str] = frozenset()
        self._lost: frozenset[str] = frozenset()

    def lost(self) -> frozenset[str]:
        """Returns the ids of the nodes whose tasks are in an unknown state. Raises `EngineError`."""
        if time.monotonic() >= self._until:
            self._look(self._list_nodes())
        return self._lost

    def _look(self, nodes: Sequence[Node]) -> None:
        there = {node.node_id: node.address for node in nodes if node.address}
        first = ask(there)
        doubted = self._heard & set(there) - first.answering - first.not_asked
        second = ask({node: there[node] for node in doubted})
        self._heard |= first.answering | second.answering
        silent = (doubted | (self._heard & _ids(nodes) - set(there))) - second.answering - second.not_asked
        # For nodes that we could not ask, the previous result still counts.
        self._silent = silent | (self._silent & (first.not_asked | second.not_asked))
        # A node that looks for its manager but answers us is alive. A node that is down is lost even if it answers,
        # because the Swarm has given it up.
        answering = first.answering | second.answering
        gone = (node.node_id for node in nodes if node.is_down or not (node.is_ready or node.node_id in answering))
        self._lost = self._silent | frozenset(gone)
        unanswered = set(there) - answering - first.not_asked
        self._until = time.monotonic() + (LOST_FOR if self._silent or unanswered else BELIEVED_FOR)


def _ids(nodes: Sequence[Node]) -> frozenset[str]:
    return frozenset(node.node_id for node in nodes)


class Answers(NamedTuple):
    """The ids of the nodes that accept a connection, and of those that our own machine could not ask."""

    answering: frozenset[str]
    not_asked: frozenset[str]


def ask(addresses: Mapping[str, str]) -> Answers:
    """Nodes in neither set are silent or have refused the connection."""
    waiting: dict[int, tuple[str, socket.socket]] = {}
    not_asked: set[str] = set()
    try:
        for node, address in addresses.items():
            try:
                begun = _begin(address)
            except OSError as error:
                if error.errno not in _SAID_BY_NETWORK:
                    not_asked.add(node)
            else:
                waiting[begun.fileno()] = node, begun
        return Answers(frozenset(_await(waiting)), frozenset(not_asked))
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
