"""Stop, remove, inspect and observe, on every engine."""

from contextlib import suppress
from dataclasses import replace

import pytest
from django.test import override_settings

from containers.errors import EngineUnavailableError, StillStoppingError
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import EngineUnderTest, deploy
from tests.containers.inspecting import inspect, wait_for_state


def test_the_engine_answers(under_test: EngineUnderTest) -> None:
    under_test.engine.ping()


def test_the_engine_describes_its_machine(under_test: EngineUnderTest) -> None:
    host = under_test.engine.describe_host()
    assert host.memory
    assert 64 << 20 < host.memory < 1 << 50
    assert host.cpus
    assert host.version


def test_the_engine_knows_its_images(under_test: EngineUnderTest) -> None:
    assert under_test.engine.image_exists(under_test.image)
    assert not under_test.engine.image_exists("berth-test/nowhere:latest")


def test_an_image_without_a_recorded_base_has_none(under_test: EngineUnderTest) -> None:
    """With what `manage.py build_images` records: `docker_api/test_pinned_base.py`."""
    found = under_test.engine.describe_image(under_test.image)
    assert found
    assert (bool(found.image_id), found.base, found.capabilities) == (True, None, ())
    assert under_test.engine.describe_image("berth-test/nowhere:latest") is None


def test_a_stopped_container_has_exited_and_stopping_again_is_fine(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=5)
    under_test.engine.stop(under_test.key, timeout=5)
    observation = inspect(under_test)
    assert (observation.state, observation.exit_code, observation.is_up) == (ContainerState.EXITED, 0, False)
    assert observation.oom_killed is False
    assert observation.finished_at


@pytest.mark.parametrize("mode", ["", "deaf"])
def test_a_stop_returns_what_an_observation_after_it_would(mode: str, under_test: EngineUnderTest) -> None:
    deploy(under_test, mode=mode)
    told = under_test.engine.stop(under_test.key, timeout=1)
    assert told == replace(inspect(under_test), report=None)
    assert under_test.engine.stop(under_test.key, timeout=1) is None  # it ended before


def test_stopping_or_removing_what_is_missing_is_fine(under_test: EngineUnderTest) -> None:
    assert under_test.engine.stop(under_test.key, timeout=1) is None
    under_test.engine.remove(under_test.key)
    under_test.engine.remove(under_test.key, volumes=True)


def test_an_agent_that_ignores_sigterm_is_killed(under_test: EngineUnderTest) -> None:
    deploy(under_test, mode="deaf")
    under_test.engine.stop(under_test.key, timeout=1)
    observation = inspect(under_test)
    assert (observation.state, observation.exit_code) == (ContainerState.EXITED, 137)
    assert observation.oom_killed is False


def test_a_stop_longer_than_the_caller_s_time_is_left_to_the_engine(under_test: EngineUnderTest) -> None:
    """The engine does not count as silent because of that: three such calls would open the breaker for all others."""
    deploy(under_test, mode="deaf")
    for _ in range(3):
        with under_test.engine.deadline(3.5), pytest.raises(StillStoppingError):
            under_test.engine.stop(under_test.key, timeout=60)
        assert inspect(under_test).state is ContainerState.RUNNING
        under_test.engine.ping()
    under_test.engine.stop(under_test.key, timeout=1)
    assert inspect(under_test).state is ContainerState.EXITED


def test_a_call_for_which_no_time_is_left_does_not_count_against_the_engine(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    for _ in range(5):
        with under_test.engine.deadline(-1), suppress(EngineUnavailableError):
            under_test.engine.inspect(under_test.key)
    assert inspect(under_test).state is ContainerState.RUNNING


@override_settings(BERTH_BOOT_FIREWALL="on")
def test_a_container_in_a_crash_loop_is_stopped_permanently(under_test: EngineUnderTest) -> None:
    deploy(under_test, mode="crash")
    looping = wait_for_state(under_test, ContainerState.RESTARTING)
    assert looping.exit_code == 3
    assert looping.report
    assert (looping.report.state, looping.report.code) == ("failed", "crash")
    under_test.engine.stop(under_test.key, timeout=1)
    stopped = inspect(under_test)
    assert stopped.state is ContainerState.EXITED
    assert inspect(under_test).restart_count == stopped.restart_count


def test_a_paused_container_is_stopped(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.pause(under_test.name)
    assert inspect(under_test).state is ContainerState.PAUSED
    assert inspect(under_test).is_up
    under_test.engine.stop(under_test.key, timeout=5)
    assert inspect(under_test).state is ContainerState.EXITED


def test_a_removed_container_is_gone_and_its_state_is_kept_until_its_removal(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.engine.remove(under_test.key)
    assert under_test.engine.inspect(under_test.key) is None
    assert f"{under_test.name}-data" in under_test.volumes(under_test.name)
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.volumes(under_test.name) == set()


def test_running_containers_are_removed_with_their_volumes_at_once(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.id_of(under_test.name) is None
    assert under_test.volumes(under_test.name) == set()


def test_no_verb_touches_or_shows_a_foreign_container(under_test: EngineUnderTest) -> None:
    theirs = under_test.foreign(under_test.name, {"berth.instance": "elsewhere"})
    under_test.engine.stop(under_test.key, timeout=1)
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.engine.inspect(under_test.key) is None
    assert under_test.engine.stats(under_test.key) is None
    assert list(under_test.engine.logs(under_test.key)) == []
    assert under_test.key not in [each.key for each in under_test.engine.observe({})]
    assert under_test.id_of(under_test.name) == theirs
    assert under_test.is_running(under_test.name)


def test_the_beginning_of_an_id_is_not_a_name(under_test: EngineUnderTest) -> None:
    container_id = deploy(under_test).container_id
    under_test.engine.remove(container_id[:12])
    assert under_test.engine.inspect(container_id[:12]) is None
    assert under_test.is_running(under_test.name)
