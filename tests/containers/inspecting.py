"""What an engine reports about the container of a test."""

from containers.vocabulary import ContainerState, Observation
from tests.containers.engine_fixtures import EngineUnderTest
from tests.waiting import wait_until


def inspect(under_test: EngineUnderTest) -> Observation:
    observation = under_test.engine.inspect(under_test.key)
    assert observation
    return observation


def wait_for_state(under_test: EngineUnderTest, *states: ContainerState) -> Observation:
    def find() -> Observation | None:
        observation = inspect(under_test)
        return observation if observation.state in states else None

    return wait_until(find)
