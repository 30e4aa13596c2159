"""Stop, remove, inspect and observe, on every engine."""

from django.conf import settings

from containers.engine import ContainerState, Health, Observation
from tests.containers.rigs import OWNER, Rig, deploy, make_spec
from tests.waiting import wait_until


def inspect(rig: Rig) -> Observation:
    observation = rig.engine.inspect(rig.name)
    assert observation
    return observation


def wait_for_state(rig: Rig, *states: ContainerState) -> Observation:
    def find() -> Observation | None:
        observation = inspect(rig)
        return observation if observation.state in states else None

    return wait_until(find)


def test_the_engine_answers(rig: Rig) -> None:
    rig.engine.ping()


def test_the_engine_knows_its_images(rig: Rig) -> None:
    assert rig.engine.image_exists(rig.image)
    assert not rig.engine.image_exists("berth-test/nowhere:latest")


def test_a_stopped_container_has_exited_and_stopping_again_is_fine(rig: Rig) -> None:
    deploy(rig)
    rig.engine.stop(rig.name, timeout=5)
    rig.engine.stop(rig.name, timeout=5)
    observation = inspect(rig)
    assert (observation.state, observation.exit_code, observation.is_up) == (ContainerState.EXITED, 0, False)
    assert observation.oom_killed is False
    assert observation.finished_at


def test_stopping_or_removing_what_is_missing_is_fine(rig: Rig) -> None:
    rig.engine.stop(rig.name, timeout=1)
    rig.engine.remove(rig.name)
    rig.engine.remove(rig.name, volumes=True)


def test_an_agent_that_ignores_sigterm_is_killed(rig: Rig) -> None:
    deploy(rig, mode="deaf")
    rig.engine.stop(rig.name, timeout=1)
    observation = inspect(rig)
    assert (observation.state, observation.exit_code) == (ContainerState.EXITED, 137)
    assert observation.oom_killed is False


def test_a_container_in_a_crash_loop_is_stopped_for_good(rig: Rig) -> None:
    deploy(rig, mode="crash")
    looping = wait_for_state(rig, ContainerState.RESTARTING)
    assert looping.exit_code == 3
    assert looping.report
    assert (looping.report.state, looping.report.code) == ("failed", "crash")
    rig.engine.stop(rig.name, timeout=1)
    stopped = inspect(rig)
    assert stopped.state is ContainerState.EXITED
    assert inspect(rig).restart_count == stopped.restart_count


def test_a_paused_container_is_stopped(rig: Rig) -> None:
    deploy(rig)
    rig.pause(rig.name)
    assert inspect(rig).state is ContainerState.PAUSED
    assert inspect(rig).is_up
    rig.engine.stop(rig.name, timeout=5)
    assert inspect(rig).state is ContainerState.EXITED


def test_a_removed_container_is_gone_and_its_state_stays_until_asked(rig: Rig) -> None:
    deploy(rig)
    rig.engine.remove(rig.name)
    assert rig.engine.inspect(rig.name) is None
    assert f"{rig.name}-data" in rig.volumes(rig.name)
    rig.engine.remove(rig.name, volumes=True)
    assert rig.volumes(rig.name) == set()


def test_running_containers_are_removed_with_their_volumes_at_once(rig: Rig) -> None:
    deploy(rig)
    rig.engine.remove(rig.name, volumes=True)
    assert rig.id_of(rig.name) is None
    assert rig.volumes(rig.name) == set()


def test_no_verb_touches_or_shows_a_foreign_container(rig: Rig) -> None:
    theirs = rig.foreign(rig.name, {"berth.instance": "elsewhere"})
    rig.engine.stop(rig.name, timeout=1)
    rig.engine.remove(rig.name, volumes=True)
    assert rig.engine.inspect(rig.name) is None
    assert rig.engine.stats(rig.name) is None
    assert list(rig.engine.logs(rig.name)) == []
    assert rig.name not in [each.name for each in rig.engine.observe({})]
    assert rig.id_of(rig.name) == theirs
    assert rig.is_running(rig.name)


def test_the_beginning_of_an_id_is_not_a_name(rig: Rig) -> None:
    container_id = deploy(rig).container_id
    rig.engine.remove(container_id[:12])
    assert rig.engine.inspect(container_id[:12]) is None
    assert rig.is_running(rig.name)


def test_observe_sees_the_same_as_inspect(rig: Rig) -> None:
    deploy(rig)
    deploy(rig, name=f"{rig.name}-2", mode="deaf")
    rig.engine.stop(f"{rig.name}-2", timeout=1)
    rig.pause(rig.name)  # so that neither is plainly healthy
    seen = {each.name: each for each in rig.engine.observe({"berth.owner": OWNER})}
    for name in (rig.name, f"{rig.name}-2"):
        assert seen[name] == rig.engine.inspect(name)


def test_observe_is_narrowed_by_all_labels(rig: Rig) -> None:
    spec = make_spec(rig)
    rig.engine.deploy(spec, confirm=lambda: True)
    mine = {"berth.instance": settings.BERTH_INSTANCE, "berth.project": rig.name}
    assert [each.name for each in rig.engine.observe(mine)] == [rig.name]
    assert rig.engine.observe({**mine, "berth.owner": "bob"}) == []


def test_observe_says_of_a_healthy_container_only_that(rig: Rig) -> None:
    rig.deploy_healthy()
    [listed] = rig.engine.observe({"berth.project": rig.name})
    assert (listed.state, listed.health) == (ContainerState.RUNNING, Health.HEALTHY)
    assert (listed.restart_count, listed.started_at, listed.report, listed.oom_killed) == (None, None, None, None)
    exact = inspect(rig)
    assert exact.health is Health.HEALTHY
    assert exact.restart_count == 0
    assert exact.report
    assert exact.report.state == "running"


def test_a_vanished_container_is_absent(rig: Rig) -> None:
    deploy(rig)
    rig.vanish(rig.name)
    assert rig.engine.inspect(rig.name) is None
    assert rig.engine.observe({"berth.project": rig.name}) == []


def test_a_container_that_runs_out_of_memory_says_so(rig: Rig) -> None:
    deploy(rig, mode="oom")
    observation = wait_for_state(rig, ContainerState.RESTARTING)
    assert observation.oom_killed is True
    assert observation.exit_code == 137


def test_the_agent_reports_that_it_runs_and_that_it_stopped(rig: Rig) -> None:
    deploy(rig)
    running = wait_until(lambda: inspect(rig).report)
    assert running.state == "running"
    rig.engine.stop(rig.name, timeout=5)
    stopped = inspect(rig).report
    assert stopped
    assert stopped.state == "stopped"
