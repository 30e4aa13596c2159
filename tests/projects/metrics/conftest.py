"""A project behind the gateway that the engine in memory runs."""

from typing import Any

import pytest

from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway


@pytest.fixture(autouse=True)
def _behind_gateway(settings: Any) -> None:
    settings.BERTH_GATEWAY = True


@pytest.fixture
def gateway(engine: MemoryEngine) -> MemoryGateway:
    return engine.gateway_program
