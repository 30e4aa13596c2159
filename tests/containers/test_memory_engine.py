"""The dials of the engine in memory, on which the service's own tests rest."""

import threading

import pytest

from containers.engine import ContainerState, EngineRefusedError, EngineUnavailableError, Health
from containers.get_engine import get_engine
from tests.containers.rigs import MemoryRig, deploy, make_spec, yes
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until


@pytest.fixture
def rig() -> MemoryRig:
    return MemoryRig()


def test_it_is_the_engine_of_the_tests() -> None:
    assert isinstance(get_engine(), MemoryEngine)


def test_a_failure_comes_as_often_as_asked(rig: MemoryRig) -> None:
    rig.engine.fail("ping", EngineRefusedError("no"), times=2)
    for _ in range(2):
        with pytest.raises(EngineRefusedError, match="no"):
            rig.engine.ping()
    rig.engine.ping()


def test_every_verb_fails_while_it_is_unavailable(rig: MemoryRig) -> None:
    deploy(rig)
    rig.engine.unavailable = True
    for verb in (
        lambda: rig.engine.deploy(make_spec(rig), confirm=yes),
        lambda: rig.engine.stop(rig.name, timeout=1),
        lambda: rig.engine.observe({}),
        lambda: rig.engine.logs(rig.name),
    ):
        with pytest.raises(EngineUnavailableError):
            verb()
    rig.engine.unavailable = False
    assert rig.is_running(rig.name)


def test_a_lost_answer_comes_after_the_deed(rig: MemoryRig) -> None:
    rig.engine.lose("deploy")
    with pytest.raises(EngineUnavailableError):
        deploy(rig)
    assert rig.is_running(rig.name)


def test_a_slow_step_lets_others_in_between(rig: MemoryRig) -> None:
    gate = threading.Event()
    rig.engine.slow("deploy.start", gate)
    results: list[str] = []

    def run() -> None:
        try:
            deploy(rig)
        except EngineRefusedError:
            results.append("refused")

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: rig.name in rig.engine.containers)
    rig.engine.remove(rig.name)
    gate.set()
    thread.join(10)
    assert results == ["refused"]
    assert rig.engine.containers == {}


def test_an_agent_that_is_not_ready_yet_is_starting(rig: MemoryRig) -> None:
    rig.engine.ready_after_deploy = False
    deploy(rig)
    observation = rig.engine.inspect(rig.name)
    assert observation
    assert observation.health is Health.STARTING
    assert observation.report
    assert observation.report.state == "starting"


def test_a_process_that_ends_by_itself_has_exited(rig: MemoryRig) -> None:
    deploy(rig)
    rig.engine.exit(rig.name, 20)
    observation = rig.engine.inspect(rig.name)
    assert observation
    assert (observation.state, observation.exit_code) == (ContainerState.EXITED, 20)


def test_its_calls_are_written_down_and_a_reset_forgets_all(rig: MemoryRig) -> None:
    deploy(rig)
    rig.engine.stop(rig.name, timeout=1)
    assert rig.engine.calls == [("deploy", rig.name), ("stop", rig.name)]
    rig.engine.reset()
    assert (rig.engine.calls, rig.engine.containers, rig.engine.volumes) == ([], {}, set())
