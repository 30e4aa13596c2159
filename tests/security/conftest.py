"""What the security tests share. Their long versions: `pytest tests/security --security=long`."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.engines import connect
from tests.fakes.engine import MemoryEngine
from tests.security.agents import Agents, build_probe_image
from tests.security.populated_service import PopulatedService


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--security",
        choices=("short", "long"),
        default="short",
        help="How much the fuzzing and the log bomb do: what fits into `make test`, or all of it (half an hour).",
    )


@pytest.fixture(scope="session")
def is_long(request: pytest.FixtureRequest) -> bool:
    # Unknown to pytest unless this folder is named on its command line.
    return bool(request.config.getoption("--security", "short") == "long")


@pytest.fixture(scope="session")
def agents() -> Iterator[Agents]:
    client = connect()
    instance = f"s-{uuid4().hex[:8]}"
    image = build_probe_image(client, instance)
    made = Agents(client, image, instance)
    try:
        yield made
    finally:
        made.close()
        client.remove_image(image, force=True)
        client.close()


@pytest.fixture
def service(db: None, engine: MemoryEngine) -> PopulatedService:
    return PopulatedService.make(engine)
