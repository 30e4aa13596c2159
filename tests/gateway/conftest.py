"""A gateway between fake servers, and the agents of Alice and Bob. The real credentials are canaries."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from tests.containers.firewall.fake_internet import NEAR_END
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.on_engine import DeployedAgent, GatewayTestbed
from tests.gateway.process import Gateway
from tests.gateway.unpacked import unpack_image

numbers = count(1)


@pytest.fixture(scope="session")
def gateway_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the image, arranged as its build does."""
    return unpack_image(tmp_path_factory.mktemp("gateway-image"))


@pytest.fixture(scope="package")
def testbed() -> Iterator[GatewayTestbed]:
    """One testbed for all tests with a real engine, because creating it takes longer than most of them."""
    with GatewayTestbed(name_servers=(NEAR_END,)).open() as testbed:
        assert testbed.warning is None
        assert testbed.address.knows_sources
        yield testbed


@pytest.fixture(scope="package")
def deployed(testbed: GatewayTestbed) -> DeployedAgent:
    return testbed.settle()


@pytest.fixture(scope="package")
def neighbour(testbed: GatewayTestbed) -> DeployedAgent:
    return testbed.settle()


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        yield fake


@pytest.fixture
def provider() -> Iterator[StreamingProvider]:
    with StreamingProvider() as fake:
        yield fake
        fake.gate.set()


@pytest.fixture
def own_gateway(gateway_image: Path, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that is not started, for a test that ends it."""
    gateway = Gateway(gateway_image, tmp_path)
    yield gateway
    gateway.kill()


@pytest.fixture(scope="session")
def shared_gateway(gateway_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = Gateway(gateway_image, tmp_path_factory.mktemp("gateway")).start()
    yield gateway
    assert gateway.stop() == 0


@pytest.fixture
def gateway(shared_gateway: Gateway) -> Iterator[Gateway]:
    """A running gateway. Its log, which must contain no credential and no failure, is shown if a test fails."""
    shared_gateway.lines.clear()
    yield shared_gateway
    log = "\n".join(shared_gateway.lines)
    assert "CANARY" not in log
    for trouble in ("failed", "was destroyed", "never retrieved", "never awaited", "Unclosed"):
        assert trouble not in log, log


@pytest.fixture
def alice(gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    return new_agent(gateway, telegram, provider)


@pytest.fixture
def bob(gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    return new_agent(gateway, telegram, provider)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def new_agent(gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    agent = Agent(gateway, telegram, provider, number=next(numbers))
    gateway.apply(agent.entry())
    return agent
