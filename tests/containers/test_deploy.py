"""The promises of a deploy, on every engine."""

import threading

import pytest
from django.conf import settings

from containers.errors import EngineRefusedError, ImageMissingError, NameTakenError, SupersededError
from containers.vocabulary import ContainerState, Observation
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec, yes
from tests.installations import theirs
from tests.waiting import wait_until


class KilledError(BaseException):
    """The process dies at this point."""


def test_a_deployed_container_runs_with_its_labels_generation_and_secrets(under_test: EngineUnderTest) -> None:
    observation = deploy(under_test, generation=7)
    assert (observation.name, observation.state) == (under_test.name, ContainerState.RUNNING)
    assert observation.labels["berth.project"] == under_test.key
    assert observation.generation == 7
    assert observation.exit_code is None
    assert observation.created_at
    assert observation.started_at
    assert under_test.secrets(under_test.name) == {"telegram_bot_token": "12:ab", "agent_api_key": "sk-1"}
    assert under_test.volumes(under_test.name) == {f"{under_test.name}-data", f"{under_test.name}-secrets"}


def test_the_same_deploy_again_adopts_the_container(under_test: EngineUnderTest) -> None:
    first = deploy(under_test)
    second = under_test.engine.deploy(make_spec(under_test), confirm=lambda: pytest.fail("It runs already."))
    assert second.container_id == first.container_id
    assert second.state is ContainerState.RUNNING


def test_the_same_deploy_again_starts_a_stopped_container(under_test: EngineUnderTest) -> None:
    first = deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=2)
    second = deploy(under_test)
    assert (second.container_id, second.state) == (first.container_id, ContainerState.RUNNING)


def test_a_deploy_killed_before_its_start_is_resumed(under_test: EngineUnderTest) -> None:
    def die() -> bool:
        raise KilledError

    with pytest.raises(KilledError):
        under_test.engine.deploy(make_spec(under_test), confirm=die)
    left = under_test.id_of(under_test.name)
    observation = deploy(under_test)
    assert observation.container_id == left
    assert observation.state is ContainerState.RUNNING
    assert under_test.secrets(under_test.name)["agent_api_key"] == "sk-1"


def test_a_newer_deploy_replaces_the_container_and_its_secrets(under_test: EngineUnderTest) -> None:
    old = deploy(under_test)
    new = deploy(under_test, generation=2, secrets={"agent_api_key": "sk-2"})
    assert new.container_id != old.container_id
    assert (new.generation, new.state) == (2, ContainerState.RUNNING)
    assert under_test.secrets(under_test.name) == {"agent_api_key": "sk-2"}


def test_the_log_of_a_replaced_container_can_be_read_until_its_removal(under_test: EngineUnderTest) -> None:
    old = deploy(under_test, mode="chatty")
    wait_until(lambda: b"line 100" in b"".join(under_test.engine.logs(under_test.key)))
    retired: list[tuple[str, bool, bytes]] = []

    def retire(ended: Observation) -> None:
        log = b"".join(under_test.engine.logs(under_test.key))
        retired.append((ended.container_id, under_test.is_running(ended.name), log))

    new = under_test.engine.deploy(make_spec(under_test, generation=2), confirm=yes, retire=retire)
    assert new.container_id != old.container_id
    [(ended, was_running, log)] = retired
    assert (ended, was_running) == (old.container_id, False)
    assert b"line 100" in log


def test_nothing_is_retired_without_a_replacement(under_test: EngineUnderTest) -> None:
    def refuse(ended: Observation) -> None:
        pytest.fail(f"{ended.name} is not replaced.")

    under_test.engine.deploy(make_spec(under_test), confirm=yes, retire=refuse)
    under_test.engine.deploy(make_spec(under_test), confirm=yes, retire=refuse)


def test_an_older_deploy_gives_up_and_changes_nothing(under_test: EngineUnderTest) -> None:
    new = deploy(under_test, generation=2)
    with pytest.raises(SupersededError):
        deploy(under_test, generation=1)
    assert under_test.id_of(under_test.name) == new.container_id
    assert under_test.is_running(under_test.name)


@pytest.mark.parametrize("whose", ["nobody's", "another project's", "another instance's", "another installation's"])
def test_a_foreign_container_of_the_name_is_not_touched(under_test: EngineUnderTest, whose: str) -> None:
    labels = {
        "nobody's": {},
        "another project's": {"berth.instance": settings.BERTH_INSTANCE, "berth.project": "other"},
        "another installation's": {
            "berth.instance": settings.BERTH_INSTANCE,
            "berth.installation": theirs(),
            "berth.project": under_test.key,
        },
        "another instance's": {"berth.instance": "elsewhere", "berth.project": under_test.key},
    }[whose]
    foreign = under_test.foreign(under_test.name, labels)
    with pytest.raises(NameTakenError):
        deploy(under_test)
    assert under_test.id_of(under_test.name) == foreign
    assert under_test.is_running(under_test.name)


def test_a_missing_image_is_refused_and_leaves_nothing(under_test: EngineUnderTest) -> None:
    with pytest.raises(ImageMissingError):
        deploy(under_test, image="berth-test/nowhere:latest")
    assert under_test.id_of(under_test.name) is None
    assert under_test.volumes(under_test.name) == set()


def test_a_missing_image_leaves_the_older_container_running(under_test: EngineUnderTest) -> None:
    old = deploy(under_test)
    with pytest.raises(ImageMissingError):
        deploy(under_test, generation=2, image="berth-test/nowhere:latest")
    assert under_test.id_of(under_test.name) == old.container_id
    assert under_test.is_running(under_test.name)


def test_confirmation_is_asked_once_when_all_is_ready_and_nothing_runs_yet(under_test: EngineUnderTest) -> None:
    seen: list[Observation | None] = []

    def look() -> bool:
        seen.append(under_test.engine.inspect(under_test.key))
        return True

    under_test.engine.deploy(make_spec(under_test), confirm=look)
    assert [each.state for each in seen if each] == [ContainerState.CREATED]


def test_without_confirmation_nothing_is_left(under_test: EngineUnderTest) -> None:
    with pytest.raises(SupersededError):
        under_test.engine.deploy(make_spec(under_test), confirm=lambda: False)
    assert under_test.id_of(under_test.name) is None
    assert under_test.volumes(under_test.name) == set()


def test_a_failed_start_leaves_nothing(under_test: EngineUnderTest) -> None:
    with pytest.raises(EngineRefusedError):
        under_test.engine.deploy(under_test.unstartable(make_spec(under_test)), confirm=yes)
    assert under_test.id_of(under_test.name) is None
    assert under_test.volumes(under_test.name) == set()


def test_a_failed_start_of_a_later_deploy_keeps_the_state(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    with pytest.raises(EngineRefusedError):
        under_test.engine.deploy(under_test.unstartable(make_spec(under_test, generation=2)), confirm=yes)
    assert under_test.id_of(under_test.name) is None
    assert f"{under_test.name}-data" in under_test.volumes(under_test.name)


def test_a_container_removed_during_its_deploy_leaves_nothing(under_test: EngineUnderTest) -> None:
    def remove_and_go_on() -> bool:
        under_test.engine.remove(under_test.key, volumes=False)
        return True

    with pytest.raises(EngineRefusedError):
        under_test.engine.deploy(make_spec(under_test), confirm=remove_and_go_on)
    assert under_test.id_of(under_test.name) is None


@pytest.mark.parametrize("newer", ["comes first", "comes between"])
def test_a_late_first_deploy_does_not_touch_the_state_of_a_newer_one(under_test: EngineUnderTest, newer: str) -> None:
    def run_and_take_down() -> bool:
        deploy(under_test, generation=2)
        under_test.engine.remove(under_test.key, volumes=False)
        return False

    if newer == "comes first":
        run_and_take_down()
    confirm = run_and_take_down if newer == "comes between" else lambda: False
    with pytest.raises(SupersededError):
        under_test.engine.deploy(make_spec(under_test, is_first=True), confirm=confirm)
    assert under_test.id_of(under_test.name) is None
    assert f"{under_test.name}-data" in under_test.volumes(under_test.name)


def test_two_simultaneous_deploys_create_one_container(under_test: EngineUnderTest) -> None:
    results: list[Observation] = []
    threads = [threading.Thread(target=lambda: results.append(deploy(under_test))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({each.container_id for each in results}) == 1
    assert len(results) == 4
    assert under_test.is_running(under_test.name)
