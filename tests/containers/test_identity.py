"""Which containers and volumes an engine considers its own, no matter what they are called."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.conf import settings

from containers.engine import Engine
from containers.errors import EngineRefusedError
from containers.identity import container_name, former_name, group_by_key, is_labelled, network_name, own_labels
from containers.vocabulary import INSTALLATION_LABEL, PROJECT_LABEL, ContainerState
from tests.containers.elsewhere import ELSEWHERE, deploy_former
from tests.containers.engine_fixtures import EngineUnderTest, deploy

VERBS: dict[str, Callable[[Engine, str], object]] = {
    "stop": lambda engine, key: engine.stop(key, timeout=1),
    "remove": lambda engine, key: engine.remove(key),
    "remove with volumes": lambda engine, key: engine.remove(key, volumes=True),
    "quarantine": lambda engine, key: engine.quarantine(key, timeout=1),
}


def test_names_are_stable_and_reveal_nothing() -> None:
    key = str(uuid4())
    name = container_name(key)
    assert name == container_name(key)
    assert name.startswith(f"{settings.BERTH_INSTANCE}-")
    assert not any(part in name for part in key.split("-") if len(part) > 4)  # four digits may occur by chance
    assert len({container_name(str(uuid4())) for _ in range(200)}) == 200
    with ELSEWHERE:
        assert container_name(key) != name
        assert network_name() != f"{settings.BERTH_INSTANCE}-agents"
        theirs = network_name()
    assert network_name() != theirs
    assert own_labels()[INSTALLATION_LABEL][:8] not in network_name() + name


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_changes_what_carries_another_id(under_test: EngineUnderTest, verb: str) -> None:
    made = deploy(under_test)
    volumes = under_test.volumes(under_test.name)
    with ELSEWHERE:
        VERBS[verb](under_test.engine, under_test.key)
        assert under_test.engine.inspect(under_test.key) is None
        assert under_test.engine.stats(under_test.key) is None
        assert list(under_test.engine.logs(under_test.key)) == []
        assert under_test.engine.observe({PROJECT_LABEL: under_test.key}) == []
        [listed] = under_test.engine.observe({PROJECT_LABEL: under_test.key}, others=True)
        assert (listed.container_id, is_labelled(listed.labels)) == (made.container_id, False)
    assert under_test.id_of(under_test.name) == made.container_id
    assert under_test.is_running(under_test.name)
    assert under_test.volumes(under_test.name) == volumes


def test_another_installation_cannot_deploy_our_agent(under_test: EngineUnderTest) -> None:
    """It would start a second agent of the same bot, without the memory of the first."""
    made = deploy(under_test)
    with ELSEWHERE, pytest.raises(EngineRefusedError):
        deploy(under_test, generation=2)
    assert under_test.id_of(under_test.name) == made.container_id
    assert under_test.is_running(under_test.name)


def test_a_renamed_container_is_found_by_its_labels(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    renamed = f"{under_test.name}-renamed"
    under_test.rename(under_test.name, renamed)
    found = under_test.engine.inspect(under_test.key)
    assert found
    assert (found.name, found.state) == (renamed, ContainerState.RUNNING)
    under_test.engine.stop(under_test.key, timeout=5)
    assert not under_test.is_running(renamed)
    assert deploy(under_test, generation=2).name == under_test.name
    assert under_test.id_of(renamed) is None
    assert f"{under_test.name}-data" in under_test.volumes(under_test.name)
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.volumes(under_test.name) == set()


def test_a_stop_leaves_neither_of_two_containers_of_a_key_running(under_test: EngineUnderTest) -> None:
    labels = {**own_labels(), PROJECT_LABEL: under_test.key}
    for name in ("one", "two"):
        under_test.foreign(f"{under_test.name}-{name}", labels)
    [group] = group_by_key(under_test.engine.observe({PROJECT_LABEL: under_test.key})).values()
    assert len(group) == 2
    under_test.engine.stop(under_test.key, timeout=1)
    assert not any(under_test.is_running(f"{under_test.name}-{name}") for name in ("one", "two"))
    under_test.engine.remove(under_test.key)
    assert under_test.engine.inspect(under_test.key) is None


def test_a_container_from_before_ids_is_adopted_with_its_state(under_test: EngineUnderTest) -> None:
    deploy_former(under_test)
    name = former_name(under_test.key)
    found = under_test.engine.inspect(under_test.key)
    assert found
    assert (found.name, is_labelled(found.labels)) == (name, False)
    under_test.engine.stop(under_test.key, timeout=5)
    assert not under_test.is_running(name)
    new = deploy(under_test, generation=2)
    assert (new.name, is_labelled(new.labels)) == (under_test.name, True)
    assert under_test.id_of(name) is None
    # The state cannot be renamed; the credentials are written again.
    assert under_test.volumes(name) == {f"{name}-data"}
    assert under_test.volumes(under_test.name) == {f"{under_test.name}-secrets"}
    assert deploy(under_test, generation=3).state is ContainerState.RUNNING
    assert under_test.volumes(name) == {f"{name}-data"}
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.volumes(name) | under_test.volumes(under_test.name) == set()


def test_a_former_container_of_the_same_deploy_is_adopted_as_it_is(under_test: EngineUnderTest) -> None:
    deploy_former(under_test)
    before = under_test.id_of(former_name(under_test.key))
    assert deploy(under_test).container_id == before
