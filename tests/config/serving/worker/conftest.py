"""A worker of the web server in a thread of the test."""

from collections.abc import Iterator

import pytest

from config.serving.worker import clients as clients_module
from config.serving.worker import pending_writes
from tests.config.serving.looping import Looping
from tests.config.serving.worker.application import Site


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def server(site: Site) -> Iterator[Looping]:
    running = Looping(site)
    yield running
    site.hold.set()
    running.hang_up()
    running.stop()


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines end at the next check."""
    for name in ("HEAD_WITHIN", "BODY_WITHIN", "LINGER"):
        monkeypatch.setattr(clients_module, name, 0.01)
    monkeypatch.setattr(pending_writes, "STALL", 0.01)


@pytest.fixture
def hasty(_hasty: None, server: Looping) -> Looping:
    """A server whose deadlines are that short."""
    return server
