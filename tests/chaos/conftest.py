"""Two sizes of everything: the short one belongs to `make test`, the long one is `--chaos=long` (see README.md)."""

from collections.abc import Iterator

import pytest

from tests.chaos.corner import Corner
from tests.chaos.server import Server, Site


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos", choices=["short", "long"], default="short", help="Size of the tests in tests/chaos.")


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--chaos") == "long")


@pytest.fixture(scope="module")
def corner() -> Iterator[Corner]:
    made = Corner()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def site(corner: Corner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"), corner)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def server(site: Site) -> Server:
    """A server that is up at the beginning of each test."""
    running = site.servers[0] if site.servers else site.serve()
    running.start_again()
    return running
