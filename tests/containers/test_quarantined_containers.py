"""What quarantine takes away from an agent and what it leaves, on every engine."""

from contextlib import suppress

import pytest

from containers.docker.secrets import MOST_BYTES, MOST_FILES
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.identity import former_name, is_labelled
from containers.vocabulary import QUARANTINE_LABEL, ContainerState, Observation
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.elsewhere import ELSEWHERE, deploy_former
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec
from tests.waiting import wait_until


def test_quarantine_stops_the_agent_removes_its_credentials_and_keeps_its_state(under_test: EngineUnderTest) -> None:
    before = deploy(under_test)
    for _ in range(2):  # what is in quarantine stays as it is
        under_test.engine.quarantine(under_test.key, timeout=1)
        kept = under_test.engine.inspect(under_test.key)
        assert kept
        assert (kept.state, kept.is_up, kept.generation) == (ContainerState.CREATED, False, before.generation)
        assert QUARANTINE_LABEL in kept.labels
        assert is_labelled(kept.labels)
        assert under_test.volumes(under_test.name) == {f"{under_test.name}-data"}
    assert deploy(under_test, generation=2).state is ContainerState.RUNNING
    assert under_test.secrets(under_test.name)["agent_api_key"] == "sk-1"


def test_quarantine_ignores_containers_without_an_id(under_test: EngineUnderTest) -> None:
    deploy_former(under_test)
    under_test.engine.quarantine(under_test.key, timeout=1)
    assert under_test.is_running(former_name(under_test.key))
    assert len(under_test.volumes(former_name(under_test.key))) == 2


def test_log_and_credentials_can_be_read_before_they_are_removed(under_test: EngineUnderTest) -> None:
    """Once, and after the last line was printed."""
    before = deploy(under_test, mode="chatty")
    wait_until(lambda: list(under_test.engine.logs(under_test.key, tail=1)), what="The agent prints nothing")
    told = []

    def read(ended: Observation) -> None:
        now = under_test.engine.inspect(under_test.key)
        assert now
        lines = list(under_test.engine.logs(under_test.key, tail=1))
        told.append((ended.container_id, now.is_up, len(lines), sorted(under_test.engine.read_secrets(under_test.key))))

    for _ in range(2):
        under_test.engine.quarantine(under_test.key, timeout=1, retire=read)
    assert told == [(before.container_id, False, 1, ["12:ab", "sk-1"])]
    assert under_test.engine.read_secrets(under_test.key) == []


def test_a_container_that_never_ran_has_nothing_to_read(under_test: EngineUnderTest) -> None:
    spec = under_test.unstartable(make_spec(under_test, mode="chatty"))
    with suppress(EngineError):
        under_test.engine.deploy(spec, confirm=lambda: True)
    under_test.engine.quarantine(under_test.key, timeout=1, retire=lambda _: pytest.fail("There is nothing to read."))


def test_an_error_during_reading_removes_nothing(under_test: EngineUnderTest) -> None:
    deploy(under_test)

    def fail(ended: Observation) -> None:
        raise EngineUnavailableError("It takes too long.")

    with pytest.raises(EngineUnavailableError):
        under_test.engine.quarantine(under_test.key, timeout=1, retire=fail)
    kept = under_test.engine.inspect(under_test.key)
    assert kept
    assert (kept.is_up, QUARANTINE_LABEL in kept.labels) == (False, False)
    assert sorted(under_test.engine.read_secrets(under_test.key)) == ["12:ab", "sk-1"]


def test_the_credentials_of_another_installation_are_not_read(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    assert under_test.engine.read_secrets("no-such-key") == []
    with ELSEWHERE:
        assert under_test.engine.read_secrets(under_test.key) == []


@pytest.mark.docker
@pytest.mark.parametrize(
    "files", [{f"f{number}": "x" for number in range(MOST_FILES + 1)}, {"big": "x" * (MOST_BYTES + 1)}]
)
def test_more_than_credentials_is_not_read(docker_under_test: DockerUnderTest, files: dict[str, str]) -> None:
    deploy(docker_under_test, secrets=files)
    with pytest.raises(EngineRefusedError, match="more than credentials"):
        docker_under_test.engine.read_secrets(docker_under_test.key)
