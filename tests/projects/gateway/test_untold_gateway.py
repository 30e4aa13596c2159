"""A gateway that works counts as working, even if the engine answers nothing about its networks or images meanwhile."""

import pytest

from containers.errors import EngineUnavailableError
from projects.models import Gateway, Project
from projects.services.gateway.provisioning import DOES_NOT_WORK, PARTLY, describe_trouble
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock
from tests.projects.gateway.test_silence_and_restarts import Silence

pytestmark = pytest.mark.django_db

SLOW = "The container engine did not answer in time."


def never_answer() -> object:
    raise EngineUnavailableError(SLOW)


@pytest.fixture
def silence(gateway: MemoryGateway, project: Project, time: Clock, engine: MemoryEngine) -> Silence:
    return Silence(gateway, project, time, engine)


@pytest.mark.every_case
@pytest.mark.parametrize("verb", ["agents_network", "ensure_gateway"])
def test_agents_behind_a_gateway_that_the_engine_does_not_tell_about_stay_well(
    silence: Silence, engine: MemoryEngine, verb: str
) -> None:
    assert silence.code_after(1) == ""
    engine.slow(verb, never_answer)
    for _ in range(5):
        silence.poll()
        assert silence.code_after(60) == ""
    assert describe_trouble() == f"{PARTLY} {SLOW}"
    assert silence.code_after(200) == "unresponsive"  # the agent itself no longer polls
    engine.slow(verb, None)
    silence.poll()
    assert silence.code_after(1) == ""
    assert describe_trouble() == ""


def test_a_gateway_that_does_not_answer_either_is_missing(silence: Silence, engine: MemoryEngine) -> None:
    assert silence.code_after(1) == ""
    found_at = Gateway.objects.get().found_at
    engine.slow("agents_network", never_answer)
    engine.gateway_container = None
    assert silence.code_after(200) == "unresponsive"
    look_after_gateway()
    assert Gateway.objects.get().found_at == found_at
    assert describe_trouble().startswith(DOES_NOT_WORK)
