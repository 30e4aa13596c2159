"""Observe and inspect, on every engine."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from django.conf import settings

from containers.vocabulary import ContainerState, Health, Observation
from tests.containers.engine_fixtures import OWNER, EngineUnderTest, deploy, make_spec
from tests.containers.inspecting import inspect
from tests.waiting import wait_until


def test_observe_sees_the_same_as_inspect(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    deploy(under_test, key=f"{under_test.key}-2", mode="deaf")
    under_test.engine.stop(f"{under_test.key}-2", timeout=1)
    under_test.pause(under_test.name)  # so that neither is plainly healthy
    seen = {each.key: each for each in under_test.engine.observe({"berth.owner": OWNER})}
    for key in (under_test.key, f"{under_test.key}-2"):
        assert seen[key] == under_test.engine.inspect(key)


def test_observe_is_narrowed_by_all_labels(under_test: EngineUnderTest) -> None:
    spec = make_spec(under_test)
    under_test.engine.deploy(spec, confirm=lambda: True)
    mine = {"berth.instance": settings.BERTH_INSTANCE, "berth.project": under_test.key}
    assert [each.name for each in under_test.engine.observe(mine)] == [under_test.name]
    assert under_test.engine.observe({**mine, "berth.owner": "bob"}) == []


def test_a_brief_observation_has_few_fields(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=1)
    [brief] = under_test.engine.observe({"berth.project": under_test.key}, briefly={under_test.key})
    assert (brief.state, brief.exit_code, brief.finished_at) == (ContainerState.EXITED, None, None)
    assert brief.is_brief
    assert not brief.is_complete
    [whole] = under_test.engine.observe({"berth.project": under_test.key}, briefly={"another"})
    assert whole == inspect(under_test)
    assert whole.is_complete


def test_a_known_run_without_a_health_check_is_only_listed(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.play(under_test.name, "unchecked")
    within, since = {"berth.project": under_test.key}, inspect(under_test).started_at
    assert since
    [known] = under_test.engine.observe(within, runs={under_test.key: since})
    assert (known.state, known.health, known.is_brief) == (ContainerState.RUNNING, Health.NONE, True)
    for runs in ({under_test.key: since - timedelta(minutes=5)}, {"another": since}):
        assert under_test.engine.observe(within, runs=runs) == [inspect(under_test)]


@pytest.mark.parametrize("change", ["stop", "pause"])
def test_a_known_run_that_does_not_go_on_is_inspected(under_test: EngineUnderTest, change: str) -> None:
    deploy(under_test)
    since = inspect(under_test).started_at
    assert since
    if change == "pause":
        under_test.pause(under_test.name)
    else:
        under_test.engine.stop(under_test.key, timeout=1)
    found = under_test.engine.observe({"berth.project": under_test.key}, runs={under_test.key: since})
    assert found == [inspect(under_test)]


def test_an_observation_of_a_healthy_container_has_only_its_health(under_test: EngineUnderTest) -> None:
    under_test.deploy_healthy()
    [listed] = under_test.engine.observe({"berth.project": under_test.key})
    assert (listed.state, listed.health) == (ContainerState.RUNNING, Health.HEALTHY)
    assert (listed.restart_count, listed.started_at, listed.report, listed.oom_killed) == (None, None, None, None)
    exact = inspect(under_test)
    assert exact.health is Health.HEALTHY
    assert exact.restart_count == 0
    assert exact.report
    assert exact.report.state == "running"


def test_an_observation_in_doubt_is_the_same_for_a_container_as_listed(under_test: EngineUnderTest) -> None:
    under_test.deploy_healthy()
    within = {"berth.project": under_test.key}
    assert under_test.engine.observe(within, doubted={under_test.key}) == under_test.engine.observe(within)
    under_test.pause(under_test.name)
    assert under_test.engine.observe(within, doubted={under_test.key}) == [inspect(under_test)]


def test_a_vanished_container_is_absent(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.vanish(under_test.name)
    assert under_test.engine.inspect(under_test.key) is None
    assert under_test.engine.observe({"berth.project": under_test.key}) == []


def test_a_container_that_ran_out_of_memory_shows_it(under_test: EngineUnderTest) -> None:
    """Of one end or another: on a busy machine, the engine itself may not hear why a container has ended."""
    generations = count(1)

    def find() -> Observation | None:
        observation = inspect(under_test)
        has_ended = observation.exit_code is not None  # Docker 28 says why a moment before it says that it has ended
        return observation if observation.oom_killed and has_ended else None

    def find_anew() -> Observation | None:
        deploy(under_test, mode="oom", generation=next(generations))  # the engine's pauses between ends grow
        with suppress(AssertionError):
            return wait_until(find, within=10)
        return None

    assert wait_until(find_anew, within=240).exit_code == 137


def test_the_agent_reports_that_it_runs_and_that_it_stopped(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    running = wait_until(lambda: inspect(under_test).report)
    assert running.state == "running"
    under_test.engine.stop(under_test.key, timeout=5)
    stopped = inspect(under_test).report
    assert stopped
    assert stopped.state == "stopped"


@pytest.mark.parametrize("of", ["its id", "another's id", "a former id"])
def test_an_inspection_that_knows_an_id_finds_the_same(under_test: EngineUnderTest, of: str) -> None:
    key, other = under_test.key, f"{under_test.key}-2"
    deploy(under_test)
    deploy(under_test, key=other)
    ids = {"its id": key, "another's id": other}
    known = under_test.engine.inspect(ids.get(of, key))
    assert known is not None
    if of == "a former id":
        under_test.engine.remove(key)
        deploy(under_test, generation=2)
    expected = under_test.engine.inspect(key)
    assert expected is not None
    found = under_test.engine.inspect(key, of=known.container_id)
    assert found is not None
    assert (found.container_id, found.state) == (expected.container_id, expected.state)
    under_test.engine.remove(key)
    assert under_test.engine.inspect(key, of=known.container_id) is None


def test_looking_at_one_container_equals_an_inspection_without_reports(under_test: EngineUnderTest) -> None:
    under_test.deploy_healthy()
    seen = inspect(under_test)
    assert under_test.engine.look_up(seen.container_id) == replace(seen, report=None)
    under_test.engine.stop(under_test.key, timeout=5)
    assert under_test.engine.look_up(seen.container_id) == replace(inspect(under_test), report=None)
    foreign = under_test.foreign(f"{under_test.name}-foreign", {})
    assert under_test.engine.look_up(foreign) is None
    under_test.engine.remove(under_test.key)
    assert under_test.engine.look_up(seen.container_id) is None
