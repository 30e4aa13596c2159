"""A gateway between the fakes, and the agents of Alice and Bob. Real credentials are canaries."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

import tests.gateway.rooms  # noqa: F401 - the gateway is found by it
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
    """The files of the image as its build lays them out."""
    return unpack_image(tmp_path_factory.mktemp("gateway-image"))


@pytest.fixture(scope="package")
def testbed() -> Iterator[GatewayTestbed]:
    """One for all tests of a real engine: to make it takes longer than most of them."""
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
    """For a test that ends it. Not started."""
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
    """It runs. Its log, which must hold no credential and no failure, is shown where a test fails."""
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
