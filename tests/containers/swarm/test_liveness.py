"""Which nodes count as lost, depending on what becomes of a connection to them."""

import errno
import socket
from collections.abc import Sequence

import pytest

from containers.swarm.nodes import liveness
from containers.swarm.nodes.liveness import Liveness
from containers.swarm.nodes.nodes import Node, read_node
from tests.containers.swarm.test_capacity import node

FOUND, REFUSED, SILENT = 0, errno.ECONNREFUSED, errno.EINPROGRESS
LOCAL = [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.EPERM, errno.ENETUNREACH]


class Line(socket.socket):
    """A fake connection. `code` is the result of the attempt to connect; a silent one never ends."""

    code = FOUND

    def connect_ex(self, address: object) -> int:
        if self.code != SILENT:
            return self.code
        self.bind(("127.0.0.1", 0))
        return SILENT

    def getsockopt(self, *names: object) -> int:  # type: ignore[override]  # all that is asked for is the error
        return self.code


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The results of the next attempts to connect. Later ones find the node."""
    codes: list[int] = []

    def open_socket(family: socket.AddressFamily) -> socket.socket:
        if codes and codes[0] == errno.EMFILE:
            raise OSError(codes.pop(0), "Too many open files")
        line = Line(family, socket.SOCK_STREAM)
        line.code = codes.pop(0) if codes else FOUND
        return line

    monkeypatch.setattr(liveness, "open_socket", open_socket)
    monkeypatch.setattr(liveness, "WITHIN", 0.01)
    monkeypatch.setattr(liveness, "BELIEVED_FOR", 0.0)
    monkeypatch.setattr(liveness, "LOST_FOR", 0.0)
    return codes


def look(of: Liveness, told: list[int], codes: Sequence[int]) -> frozenset[str]:
    told[:] = codes
    return of.lost()


def make(nodes: list[Node]) -> Liveness:
    return Liveness(lambda: nodes)


def test_one_lost_packet_loses_no_node_and_two_do(told: list[int]) -> None:
    lives = make([node(1)])
    assert look(lives, told, [SILENT, SILENT]) == frozenset()  # it has never answered
    assert look(lives, told, []) == frozenset()
    assert look(lives, told, [SILENT, FOUND]) == frozenset()
    assert look(lives, told, [REFUSED, FOUND]) == frozenset()
    assert look(lives, told, [SILENT, REFUSED]) == {"n1"}
    assert look(lives, told, [FOUND]) == frozenset()


@pytest.mark.parametrize("code", LOCAL)
def test_a_local_failure_does_not_count_against_a_node(told: list[int], code: int) -> None:
    lives = make([node(1)])
    assert look(lives, told, []) == frozenset()
    for codes in ([code], [SILENT, code]):
        assert look(lives, told, codes) == frozenset()
    assert look(lives, told, [SILENT, SILENT]) == {"n1"}
    for codes in ([code], [SILENT, code]):
        assert look(lives, told, codes) == {"n1"}
    assert look(lives, told, []) == frozenset()


def test_a_silent_node_keeps_its_last_observation_for_longer(told: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each observation waits for the node, and each command needs several."""
    monkeypatch.setattr(liveness, "LOST_FOR", 600.0)
    looked: list[int] = []

    def list_nodes() -> list[Node]:
        looked.append(1)
        return [node(1), node(2)]

    lives = Liveness(list_nodes)
    look(lives, told, [])
    look(lives, told, [errno.EMFILE])  # which takes no time
    look(lives, told, [SILENT, FOUND, FOUND])
    assert len(looked) == 3
    never = Liveness(list_nodes)
    for _ in range(2):
        assert look(never, told, [FOUND, SILENT]) == frozenset()
    assert len(looked) == 4


def test_the_manager_s_word_counts(told: list[int]) -> None:
    down = read_node({"ID": "n9", "Spec": {"Availability": "active"}, "Status": {"State": "down", "Addr": "10.0.0.9"}})
    assert look(make([down]), told, [errno.EMFILE]) == {"n9"}
