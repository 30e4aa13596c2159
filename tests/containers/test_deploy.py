"""What a deploy promises, on every engine."""

import threading

import pytest
from django.conf import settings

from containers.engine import (
    ContainerState,
    EngineRefusedError,
    ImageMissingError,
    NameTakenError,
    Observation,
    SupersededError,
)
from tests.containers.rigs import Rig, deploy, make_spec, yes


class KilledError(BaseException):
    """The process dies at this point."""


def test_a_deployed_container_runs_with_its_labels_generation_and_secrets(rig: Rig) -> None:
    observation = deploy(rig, generation=7)
    assert (observation.name, observation.state) == (rig.name, ContainerState.RUNNING)
    assert observation.labels["berth.project"] == rig.name
    assert observation.generation == 7
    assert observation.exit_code is None
    assert observation.created_at
    assert observation.started_at
    assert rig.secrets(rig.name) == {"telegram_bot_token": "12:ab", "agent_api_key": "sk-1"}
    assert rig.volumes(rig.name) == {f"{rig.name}-data", f"{rig.name}-secrets"}


def test_the_same_deploy_again_adopts_the_container(rig: Rig) -> None:
    first = deploy(rig)
    second = rig.engine.deploy(make_spec(rig), confirm=lambda: pytest.fail("It runs already."))
    assert second.container_id == first.container_id
    assert second.state is ContainerState.RUNNING


def test_the_same_deploy_again_starts_a_stopped_container(rig: Rig) -> None:
    first = deploy(rig)
    rig.engine.stop(rig.name, timeout=2)
    second = deploy(rig)
    assert (second.container_id, second.state) == (first.container_id, ContainerState.RUNNING)


def test_a_deploy_that_was_killed_before_its_start_is_taken_up_again(rig: Rig) -> None:
    def die() -> bool:
        raise KilledError

    with pytest.raises(KilledError):
        rig.engine.deploy(make_spec(rig), confirm=die)
    left = rig.id_of(rig.name)
    observation = deploy(rig)
    assert observation.container_id == left
    assert observation.state is ContainerState.RUNNING
    assert rig.secrets(rig.name)["agent_api_key"] == "sk-1"


def test_a_newer_deploy_replaces_the_container_and_its_secrets(rig: Rig) -> None:
    old = deploy(rig)
    new = deploy(rig, generation=2, secrets={"agent_api_key": "sk-2"})
    assert new.container_id != old.container_id
    assert (new.generation, new.state) == (2, ContainerState.RUNNING)
    assert rig.secrets(rig.name) == {"agent_api_key": "sk-2"}


def test_an_older_deploy_gives_up_and_changes_nothing(rig: Rig) -> None:
    new = deploy(rig, generation=2)
    with pytest.raises(SupersededError):
        deploy(rig, generation=1)
    assert rig.id_of(rig.name) == new.container_id
    assert rig.is_running(rig.name)


@pytest.mark.parametrize("whose", ["nobody's", "another project's", "another instance's"])
def test_a_foreign_container_of_the_name_is_not_touched(rig: Rig, whose: str) -> None:
    labels = {
        "nobody's": {},
        "another project's": {"berth.instance": settings.BERTH_INSTANCE, "berth.project": "other"},
        "another instance's": {"berth.instance": "elsewhere", "berth.project": rig.name},
    }[whose]
    theirs = rig.foreign(rig.name, labels)
    with pytest.raises(NameTakenError):
        deploy(rig)
    assert rig.id_of(rig.name) == theirs
    assert rig.is_running(rig.name)


def test_a_missing_image_is_refused_and_leaves_nothing(rig: Rig) -> None:
    with pytest.raises(ImageMissingError):
        deploy(rig, image="berth-test/nowhere:latest")
    assert rig.id_of(rig.name) is None
    assert rig.volumes(rig.name) == set()


def test_a_missing_image_leaves_the_older_container_running(rig: Rig) -> None:
    old = deploy(rig)
    with pytest.raises(ImageMissingError):
        deploy(rig, generation=2, image="berth-test/nowhere:latest")
    assert rig.id_of(rig.name) == old.container_id
    assert rig.is_running(rig.name)


def test_confirmation_is_asked_once_when_all_is_ready_and_nothing_runs_yet(rig: Rig) -> None:
    seen: list[Observation | None] = []

    def look() -> bool:
        seen.append(rig.engine.inspect(rig.name))
        return True

    rig.engine.deploy(make_spec(rig), confirm=look)
    assert [each.state for each in seen if each] == [ContainerState.CREATED]


def test_without_confirmation_nothing_is_left(rig: Rig) -> None:
    with pytest.raises(SupersededError):
        rig.engine.deploy(make_spec(rig), confirm=lambda: False)
    assert rig.id_of(rig.name) is None
    assert rig.volumes(rig.name) == set()


def test_a_failed_start_leaves_nothing(rig: Rig) -> None:
    with pytest.raises(EngineRefusedError):
        rig.engine.deploy(rig.unstartable(make_spec(rig)), confirm=yes)
    assert rig.id_of(rig.name) is None
    assert rig.volumes(rig.name) == set()


def test_a_failed_start_of_a_later_deploy_keeps_the_state(rig: Rig) -> None:
    deploy(rig)
    with pytest.raises(EngineRefusedError):
        rig.engine.deploy(rig.unstartable(make_spec(rig, generation=2)), confirm=yes)
    assert rig.id_of(rig.name) is None
    assert f"{rig.name}-data" in rig.volumes(rig.name)


def test_a_container_that_is_removed_during_its_deploy_is_not_left_behind(rig: Rig) -> None:
    def remove_and_go_on() -> bool:
        rig.engine.remove(rig.name, volumes=False)
        return True

    with pytest.raises(EngineRefusedError):
        rig.engine.deploy(make_spec(rig), confirm=remove_and_go_on)
    assert rig.id_of(rig.name) is None


def test_two_deploys_at_once_make_one_container(rig: Rig) -> None:
    results: list[Observation] = []
    threads = [threading.Thread(target=lambda: results.append(deploy(rig))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({each.container_id for each in results}) == 1
    assert len(results) == 4
    assert rig.is_running(rig.name)
