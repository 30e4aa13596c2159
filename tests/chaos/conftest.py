"""Two sizes of everything: the short one is part of `make test`, the long one is `--chaos=long` (see README.md)."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

import containers.get_engine
from projects.models import AgentType, Plan
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.inside.prepare import add_offers
from tests.chaos.server import Server, Site
from tests.watchers import watchers_in_threads

LONG_ONLY = {"test_engine_restart.py", "test_engine_disk.py", "test_old_server.py"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos", choices=["short", "long"], default="short", help="Size of the tests in tests/chaos.")
    parser.addoption("--repeats", type=int, default=20, help="How often the long ones take each case.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A second Docker engine takes long to start, and so does a second Berth, so they are for the long version only."""
    is_short = config.getoption("--chaos", "short") == "short"
    return True if is_short and collection_path.name in LONG_ONLY else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The engine's behaviour does not depend on the database, so the short version uses one; races run on both."""
    if config.getoption("--chaos", "short") == "short" and config.getoption("--only-database"):
        here = Path(__file__).parent
        unwanted = [
            item
            for item in items
            if here in item.path.parents
            and item.path.name != "test_races_of_servers.py"
            and item.get_closest_marker("docker")
        ]
        config.hook.pytest_deselected(items=unwanted)
        items[:] = [item for item in items if item not in unwanted]


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--chaos", "short") == "long")


@pytest.fixture(scope="module")
def docker_instance() -> Iterator[DockerInstance]:
    made = DockerInstance()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def site(docker_instance: DockerInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"), docker_instance)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def server(site: Site) -> Server:
    """A server that runs at the beginning of each test."""
    running = site.servers[0] if site.servers else site.serve()
    running.start_again()
    return running


@pytest.fixture
def real_engine(
    docker_instance: DockerInstance, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], None]]:
    """Makes this process work as `docker_instance` does, with the same Docker engine.
    The argument is a DOCKER_HOST, or empty for the usual one."""

    def use(url: str = "") -> None:
        settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
        settings.BERTH_INSTANCE = docker_instance.name
        settings.BERTH_GATEWAY = False  # see tests/without_gateway.py
        settings.BERTH_LIMITS = dict.fromkeys(settings.BERTH_LIMITS, 1_000_000)
        add_offers(AgentType, Plan, docker_instance.image)
        if url:
            monkeypatch.setenv("DOCKER_HOST", url)

    engines = containers.get_engine._load
    engines.cache_clear()  # a new client, and a closed breaker
    yield use
    engines.cache_clear()
    docker_instance.remove_all()


@pytest.fixture
def watcher() -> Iterator[Callable[[], Watcher]]:
    with watchers_in_threads() as start:
        yield start


@pytest.fixture
def api(api: APIClient) -> APIClient:
    """Alice's client, which gets a 500 if a view raises, as in production."""
    api.raise_request_exception = False
    return api
