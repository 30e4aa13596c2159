"""Running servers: one for each test, and one for all tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.serving.notified import Notified
from tests.config.serving.served import Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server that the test ends."""
    with serving(tmp_path, "--announce") as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that outlives the test."""
    with serving(tmp_path_factory.mktemp("shared"), "--announce") as running:
        running.wait_until_up()
        yield running


@pytest.fixture
def notified() -> Iterator[Notified]:
    made = Notified()
    yield made
    made.close()
