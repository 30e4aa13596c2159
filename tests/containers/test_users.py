"""Every engine reports which user numbers are taken, so that none is given out twice."""

from typing import Any

import pytest
from django.test import override_settings

from containers.docker.volumes.users import HIGHEST, Users
from containers.engine import Engine
from containers.identity import own_labels
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, USER_LABEL
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec, yes

USER = 1_900_000_017


def test_nothing_has_no_user(under_test: EngineUnderTest) -> None:
    assert under_test.engine.highest_user() is None
    assert not under_test.engine.has_user(USER)


def test_the_highest_user_of_all_counts(under_test: EngineUnderTest) -> None:
    for number in (USER + 2, USER, USER + 1):
        key = f"{under_test.key}-{number}"
        under_test.engine.deploy(make_spec(under_test, key=key, user=number), confirm=yes)
        assert under_test.engine.highest_user() == USER + 2
    assert [under_test.engine.has_user(USER + number) for number in range(-1, 4)] == [False, True, True, True, False]


def stop(engine: Engine, key: str) -> None:
    engine.stop(key, timeout=1)


def quarantine(engine: Engine, key: str) -> None:
    engine.quarantine(key, timeout=1)


def remove(engine: Engine, key: str) -> None:
    """The state stays, and so does its owner."""
    engine.remove(key)


@pytest.mark.parametrize("act", [stop, quarantine, remove])
def test_a_user_number_counts_while_anything_of_it_is_left(under_test: EngineUnderTest, act: Any) -> None:
    deploy(under_test, user=USER)
    act(under_test.engine, under_test.key)
    assert (under_test.engine.highest_user(), under_test.engine.has_user(USER)) == (USER, True)
    under_test.engine.remove(under_test.key, volumes=True)
    assert (under_test.engine.highest_user(), under_test.engine.has_user(USER)) == (None, False)


def test_the_users_of_another_installation_do_not_count(under_test: EngineUnderTest) -> None:
    deploy(under_test, user=USER)
    with override_settings(BERTH_INSTALLATION_SOURCE="tests.installations.theirs"):
        assert under_test.engine.highest_user() is None


@pytest.mark.parametrize("others", [{}, {"BERTH_INSTANCE": "another"}], ids=["of this name", "of another name"])
def test_foreign_containers_count_if_their_number_is_in_our_block(
    under_test: EngineUnderTest, others: dict[str, str]
) -> None:
    """Two installations may have the same `BERTH_UID_BASE`."""
    deploy(under_test, user=USER)
    theirs = override_settings(BERTH_INSTALLATION_SOURCE="tests.installations.theirs", **others)
    for _ in ("its container", "its volume"):
        with theirs:
            assert under_test.engine.highest_user() is None
            assert under_test.engine.highest_user(block=range(USER, USER + 1)) == USER
            assert under_test.engine.highest_user(block=range(USER + 1, USER + 9)) is None
            assert under_test.engine.has_user(USER)
        under_test.engine.remove(under_test.key)


@pytest.fixture
def unlabelled(docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> DockerUnderTest:
    """An agent from before there was a label for its user."""
    with monkeypatch.context() as before:
        before.setattr("containers.hardening.USER_LABEL", "berth.other")
        deploy(docker_under_test, user=USER)
    return docker_under_test


@pytest.mark.docker
def test_a_container_without_the_label_is_asked_once(
    unlabelled: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = unlabelled.engine
    monkeypatch.setattr(engine, "_users", Users(engine._connection, engine._lookup))
    assert engine.has_user(USER)
    assert engine.highest_user() == USER
    monkeypatch.setattr(Users, "_ask", lambda self, container: self._asked[container.container_id])
    assert engine.highest_user() == USER
    assert (engine.has_user(USER), engine.has_user(USER + 1)) == (True, False)


@pytest.mark.docker
def test_a_quarantined_state_names_its_user(unlabelled: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = unlabelled.engine
    unlabelled.run("touch", "/data/kept")
    engine.quarantine(unlabelled.key, timeout=1)
    monkeypatch.setattr(engine, "_users", Users(engine._connection, engine._lookup))
    assert engine.highest_user() == USER


@pytest.mark.docker
@pytest.mark.parametrize("label", ["", "-1", "٣", "1e9", "0x7fffffff", "9" * 30, str(HIGHEST + 1), f" {USER}", "root"])
def test_an_invalid_user_label_changes_nothing(docker_under_test: DockerUnderTest, label: str) -> None:
    labels = {**own_labels(), PROJECT_LABEL: docker_under_test.key, USER_LABEL: label}
    assert INSTANCE_LABEL in labels
    docker_under_test.client.create_container(docker_under_test.image, name=docker_under_test.name, labels=labels)
    deploy(docker_under_test, key=f"{docker_under_test.key}-2", user=USER)
    assert docker_under_test.engine.highest_user() == USER
