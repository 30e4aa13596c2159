"""Changes of our containers past Berth, on every engine: names, copies, networks, restart policies.

Names do not matter: an agent's objects are found by their label, in any state.
"""

from collections.abc import Callable

import pytest

from containers.identity import group_by_key, own_labels
from containers.vocabulary import GENERATION_LABEL, PROJECT_LABEL
from tests.containers.engine_fixtures import CHANGES, EngineUnderTest, deploy

STATES: dict[str, Callable[[EngineUnderTest, str], object]] = {
    "running": lambda _under_test, _name: None,
    "stopped": lambda under_test, _name: under_test.engine.stop(under_test.key, timeout=1),
    "paused": lambda under_test, name: under_test.pause(name),
}


def labels_of(under_test: EngineUnderTest) -> dict[str, str]:
    return {**own_labels(), PROJECT_LABEL: under_test.key, "berth.owner": "alice", GENERATION_LABEL: "1"}


def up(under_test: EngineUnderTest) -> list[str]:
    return [each.name for each in under_test.engine.observe({PROJECT_LABEL: under_test.key}) if each.is_up]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("copies", [0, 1])
def test_every_verb_finds_renamed_and_copied_containers(under_test: EngineUnderTest, state: str, copies: int) -> None:
    deploy(under_test)
    name, verbs = f"{under_test.name}-renamed", under_test.engine
    under_test.rename(under_test.name, name)
    for number in range(copies):
        under_test.foreign(f"{under_test.name}-copy-{number}", labels_of(under_test))
    STATES[state](under_test, name)
    found = verbs.inspect(under_test.key)
    assert found
    assert found.is_up == (state != "stopped")
    [group] = group_by_key(verbs.observe({PROJECT_LABEL: under_test.key})).values()
    assert len(group) == 1 + copies
    if not copies:
        assert found.name == name
        assert state != "running" or verbs.stats(under_test.key)
    verbs.stop(under_test.key, timeout=1)
    assert up(under_test) == []
    # The same generation is adopted, and what is left next to it is removed.
    assert deploy(under_test).is_up
    assert len(up(under_test)) == 1
    assert len(verbs.observe({PROJECT_LABEL: under_test.key})) == 1
    assert deploy(under_test, generation=2).name == under_test.name
    assert up(under_test) == [under_test.name]
    under_test.rename(under_test.name, name)
    verbs.quarantine(under_test.key, timeout=1)
    assert up(under_test) == []
    verbs.remove(under_test.key, volumes=True)
    assert verbs.inspect(under_test.key) is None
    assert under_test.volumes(under_test.name) == set()


def test_a_copy_that_does_not_run_is_removed_beside_the_running_agent(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.foreign(f"{under_test.name}-copy", labels_of(under_test))
    under_test.kill(f"{under_test.name}-copy")
    under_test.engine.realign(under_test.key)
    assert [each.name for each in under_test.engine.observe({PROJECT_LABEL: under_test.key})] == [under_test.name]
    assert up(under_test) == [under_test.name]


def test_of_two_containers_that_run_or_do_not_run_none_is_removed_as_a_spare(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    under_test.foreign(f"{under_test.name}-copy", labels_of(under_test))
    under_test.engine.realign(under_test.key)
    assert len(up(under_test)) == 2
    under_test.engine.stop(under_test.key, timeout=1)
    under_test.engine.realign(under_test.key)
    assert len(under_test.engine.observe({PROJECT_LABEL: under_test.key})) == 2


def test_a_deploy_leaves_one_of_two_running_containers(under_test: EngineUnderTest) -> None:
    for generation in (1, 2):
        deploy(under_test, generation=generation)
        labels = labels_of(under_test) | {GENERATION_LABEL: str(generation)}
        under_test.foreign(f"{under_test.name}-copy-{generation}", labels)
        assert len(up(under_test)) == 2
        assert deploy(under_test, generation=generation).is_up
        assert len(up(under_test)) == 1


def test_an_agent_whose_name_is_taken_is_still_deployed(under_test: EngineUnderTest) -> None:
    """The other container continues under another name."""
    other = f"{under_test.key}-2"
    there = deploy(under_test, key=other)
    under_test.rename(there.name, under_test.name)
    assert deploy(under_test).name == under_test.name
    found = under_test.engine.inspect(other)
    assert found
    assert (found.container_id, found.is_up, found.name) == (there.container_id, True, there.name)
    under_test.engine.remove(other, volumes=True)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("state", ["running", "stopped"])
def test_manual_changes_are_detected_and_reverted(under_test: EngineUnderTest, change: str, state: str) -> None:
    made = deploy(under_test)
    assert not made.has_drifted
    STATES[state](under_test, under_test.name)
    before = under_test.engine.inspect(under_test.key)
    assert before
    assert not before.has_drifted
    under_test.change(under_test.name, change)
    changed = under_test.engine.inspect(under_test.key)
    assert changed
    assert changed.has_drifted
    under_test.engine.realign(under_test.key)
    after = under_test.engine.inspect(under_test.key)
    assert after
    assert not after.has_drifted
    assert (after.container_id, after.started_at, after.is_up) == (made.container_id, before.started_at, before.is_up)


@pytest.mark.parametrize("change", CHANGES)
def test_changes_made_while_stopped_are_reverted_before_the_start(under_test: EngineUnderTest, change: str) -> None:
    deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=1)
    under_test.change(under_test.name, change)
    assert deploy(under_test).is_up
    found = under_test.engine.inspect(under_test.key)
    assert found
    assert not found.has_drifted


@pytest.mark.parametrize("change", [change for change in CHANGES if "network" in change])
def test_the_list_shows_the_networks_of_a_healthy_container_too(under_test: EngineUnderTest, change: str) -> None:
    under_test.deploy_healthy()
    [listed] = under_test.engine.observe({PROJECT_LABEL: under_test.key})
    assert not listed.has_drifted
    under_test.change(under_test.name, change)
    [listed] = under_test.engine.observe({PROJECT_LABEL: under_test.key})
    assert listed.has_drifted
    under_test.engine.realign(under_test.key)
    [listed] = under_test.engine.observe({PROJECT_LABEL: under_test.key})
    assert not listed.has_drifted


def test_reverting_a_missing_container_is_no_error(under_test: EngineUnderTest) -> None:
    under_test.engine.realign(under_test.key)
    theirs = under_test.foreign(under_test.name, {"berth.instance": "elsewhere"})
    under_test.engine.realign(under_test.key)
    assert under_test.id_of(under_test.name) == theirs
