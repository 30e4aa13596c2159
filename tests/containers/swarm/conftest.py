"""A Swarm of three real engines, which all tests of a run share."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.containers.swarm.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A test that kills, cuts off or drains a node must restore it."""
    home = Path(mkdtemp(prefix="bs-"))  # short, as a socket's path has to be
    cluster = Cluster(home)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(home, ignore_errors=True)
