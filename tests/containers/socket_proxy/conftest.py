"""A proxy between the tests and an engine that records what it receives."""

from collections.abc import Iterator

import pytest

from tests.containers.socket_proxy.wire import Wire, running_wire


@pytest.fixture(scope="session")
def shared_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with running_wire(tmp_path_factory.mktemp("wire")) as wire:
        yield wire


@pytest.fixture
def wire(shared_wire: Wire) -> Wire:
    shared_wire.settle()
    shared_wire.came.clear()
    return shared_wire
