"""Which container the gateway is, if several threads ask at the same time."""

from typing import Any, cast

import pytest

from containers.docker.gateway.gateway import Gateway
from containers.docker.gateway.payload import Way
from containers.docker.gateway.rows import Row
from containers.docker_api.client import Connection

pytestmark = pytest.mark.one_database


class Containers:
    def list(self) -> list[Row]:
        row = Row(
            container_id="id",
            name="name",
            state="running",
            made="",
            way=Way.PORT,
            takes_turns=True,
            networks=frozenset(),
        )
        return [row]


class Lines:
    def exchange(self, container: str, _line: bytes, *, until: float) -> bytes:
        return container.encode()


class Forgetful(Gateway):
    """Each time that it is read, another thread has just found no gateway."""

    known = ""

    @property
    def _known_id(self) -> str:
        found, self.known = self.known, ""
        return found

    @_known_id.setter
    def _known_id(self, found: str) -> None:
        self.known = found


@pytest.mark.parametrize("known", ["", "id"])
def test_a_thread_that_finds_no_container_does_not_clear_it_for_others(known: str) -> None:
    gateway = Forgetful(cast("Connection", None))
    gateway._containers, gateway._lines = cast("Any", Containers()), cast("Any", Lines())
    gateway._known_id = known
    assert gateway.exchange(b"ping\n", within=1.0) == b"id"
