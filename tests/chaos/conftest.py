"""Two sizes of everything: the short one belongs to `make test`, the long one is `--chaos=long` (see README.md)."""

from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

import containers.engine
from accounts.models import User
from accounts.tokens import issue_session
from projects.models import AgentType, Plan
from tests.chaos.corner import Corner
from tests.chaos.inside.prepare import add_offers
from tests.chaos.server import Server, Site


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos", choices=["short", "long"], default="short", help="Size of the tests in tests/chaos.")
    parser.addoption("--repeats", type=int, default=20, help="How often the long ones take each case.")


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


@pytest.fixture
def real_engine(corner: Corner, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Make this process use the real engine, in the corner; the argument is its DOCKER_HOST, empty for the usual."""

    def use(url: str = "") -> None:
        settings.BERTH_ENGINE_CLASS = "containers.docker_engine.DockerEngine"
        settings.BERTH_INSTANCE, settings.BERTH_CONTAINER_NETWORK = corner.instance, corner.network
        settings.BERTH_LIMITS = dict.fromkeys(settings.BERTH_LIMITS, 1_000_000)
        add_offers(AgentType, Plan, corner.image)
        if url:
            monkeypatch.setenv("DOCKER_HOST", url)

    engines = containers.engine._load
    engines.cache_clear()  # a new client, a closed breaker
    yield use
    engines.cache_clear()
    corner.sweep()


@pytest.fixture
def alice_api(db: None) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_session(User.objects.create_user('alice@example.org'))}")
    return client
