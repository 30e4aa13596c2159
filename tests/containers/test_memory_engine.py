"""The dials of the engine in memory, on which the service's own tests depend."""

import threading

import pytest

from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState, Health
from tests.containers.engine_fixtures import deploy, make_spec, yes
from tests.containers.memory_under_test import MemoryUnderTest
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until


@pytest.fixture
def under_test() -> MemoryUnderTest:
    return MemoryUnderTest()


def test_the_tests_use_the_memory_engine() -> None:
    assert isinstance(get_engine(), MemoryEngine)


def test_a_failure_occurs_as_often_as_requested(under_test: MemoryUnderTest) -> None:
    under_test.engine.fail("ping", EngineRefusedError("no"), times=2)
    for _ in range(2):
        with pytest.raises(EngineRefusedError, match="no"):
            under_test.engine.ping()
    under_test.engine.ping()


def test_every_verb_fails_while_the_engine_is_unavailable(under_test: MemoryUnderTest) -> None:
    deploy(under_test)
    under_test.engine.unavailable = True
    for verb in (
        lambda: under_test.engine.deploy(make_spec(under_test), confirm=yes),
        lambda: under_test.engine.stop(under_test.key, timeout=1),
        lambda: under_test.engine.observe({}),
        lambda: under_test.engine.logs(under_test.key),
    ):
        with pytest.raises(EngineUnavailableError):
            verb()
    under_test.engine.unavailable = False
    assert under_test.is_running(under_test.name)


def test_an_answer_is_lost_after_its_effect(under_test: MemoryUnderTest) -> None:
    under_test.engine.lose("deploy")
    with pytest.raises(EngineUnavailableError):
        deploy(under_test)
    assert under_test.is_running(under_test.name)


def test_a_slow_step_lets_others_in_between(under_test: MemoryUnderTest) -> None:
    gate = threading.Event()
    under_test.engine.slow("deploy.start", gate)
    results: list[str] = []

    def run() -> None:
        try:
            deploy(under_test)
        except EngineRefusedError:
            results.append("refused")

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: under_test.name in under_test.engine.containers)
    under_test.engine.remove(under_test.key)
    gate.set()
    thread.join(60)
    assert results == ["refused"]
    assert under_test.engine.containers == {}


def test_an_agent_that_is_not_ready_yet_is_starting(under_test: MemoryUnderTest) -> None:
    under_test.engine.ready_after_deploy = False
    deploy(under_test)
    observation = under_test.engine.inspect(under_test.key)
    assert observation
    assert observation.health is Health.STARTING
    assert observation.report
    assert observation.report.state == "starting"


def test_a_process_that_ends_by_itself_has_exited(under_test: MemoryUnderTest) -> None:
    deploy(under_test)
    under_test.engine.exit(under_test.name, 20)
    observation = under_test.engine.inspect(under_test.key)
    assert observation
    assert (observation.state, observation.exit_code) == (ContainerState.EXITED, 20)


def test_its_calls_are_written_down_and_a_reset_forgets_all(under_test: MemoryUnderTest) -> None:
    deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=1)
    assert under_test.engine.calls == [("deploy", under_test.key), ("stop", under_test.key)]
    under_test.engine.reset()
    assert (under_test.engine.calls, under_test.engine.containers, under_test.engine.volumes) == ([], {}, set())
