"""A deploy keeps the volume of the credentials if the agent has worked with what it holds, and fills it otherwise."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.agent_contract import SECRETS_PATH
from containers.docker.secrets import pack_secrets
from containers.errors import SupersededError
from containers.hardening import secrets_volume
from containers.vocabulary import Observation
from tests.containers.docker.handing_over import USER
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec
from tests.engine_calls import calls  # noqa: F401 - a fixture

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]

SECRETS = {"telegram_bot_token": "12:ab", "agent_api_key": "sk-1"}
FILL = "PUT containers archive"
SECOND = timedelta(seconds=1)


@pytest.fixture
def ran(docker_under_test: DockerUnderTest) -> Observation:
    """An agent that works with its credentials."""
    deploy(docker_under_test, user=USER)
    found = docker_under_test.engine.inspect(docker_under_test.key)
    assert found
    assert found.started_at
    return found


def next_one(under_test: DockerUnderTest, ran: Observation, **changes: Any) -> dict[str, str]:
    """Deploys the next generation, and returns its credentials. Its agent can read all of them."""
    values = {"generation": 2, "user": USER, "has_state": True, "well_since": ran.started_at} | changes
    made = deploy(under_test, **values)
    assert made.is_up
    found = under_test.secrets(under_test.name)
    for name, content in found.items():
        assert under_test.run("cat", f"{SECRETS_PATH}/{name}") == (0, content)
    return found


def test_the_credentials_of_a_container_that_vanished_are_kept(
    docker_under_test: DockerUnderTest,
    ran: Observation,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    docker_under_test.vanish(docker_under_test.name)
    calls.clear()
    assert next_one(docker_under_test, ran) == SECRETS
    assert FILL not in calls
    assert "DELETE volumes" not in calls


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "running"])
def test_the_credentials_of_a_replaced_container_are_kept(
    docker_under_test: DockerUnderTest,
    ran: Observation,
    calls: list[str],  # noqa: F811 - the fixture
    *,
    ends: bool,
) -> None:
    if ends:
        docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    seen = docker_under_test.engine.inspect(docker_under_test.key)
    spec = make_spec(docker_under_test, generation=2, user=USER, has_state=True, well_since=ran.started_at)
    calls.clear()
    docker_under_test.engine.deploy(spec, confirm=lambda: True, seen=seen)
    assert docker_under_test.secrets(docker_under_test.name) == SECRETS
    assert FILL not in calls


@pytest.mark.parametrize(
    "secrets",
    [
        {**SECRETS, "agent_api_key": "sk-2"},
        {**SECRETS, "pairing": "x"},
        {"telegram_bot_token": "12:ab"},
        {"telegram_bot_token": "sk-1", "agent_api_key": "12:ab"},
        {},
    ],
)
def test_other_credentials_replace_those_of_before(
    docker_under_test: DockerUnderTest, ran: Observation, secrets: dict[str, str]
) -> None:
    docker_under_test.vanish(docker_under_test.name)
    assert next_one(docker_under_test, ran, secrets=secrets) == secrets


def test_another_user_gets_credentials_of_its_own(docker_under_test: DockerUnderTest, ran: Observation) -> None:
    docker_under_test.vanish(docker_under_test.name)
    assert next_one(docker_under_test, ran, user=USER + 1) == SECRETS


@pytest.mark.parametrize("well_since", [lambda _: None, lambda at: at - timedelta(minutes=1)], ids=["never", "before"])
def test_credentials_with_which_the_agent_has_not_worked_are_delivered_again(
    docker_under_test: DockerUnderTest,
    ran: Observation,
    calls: list[str],  # noqa: F811 - the fixture
    well_since: Callable[[Any], datetime | None],
) -> None:
    """A killed deploy may have filled the volume in part."""
    empty = pack_secrets({"agent_api_key": ""}, group=USER)
    docker_under_test.client.put_archive(docker_under_test.name, SECRETS_PATH, empty)
    docker_under_test.vanish(docker_under_test.name)
    calls.clear()
    assert next_one(docker_under_test, ran, well_since=well_since(ran.started_at)) == SECRETS
    assert FILL in calls


@pytest.mark.parametrize("start", [None, datetime.now(UTC) + timedelta(hours=1)], ids=["unknown", "since"])
def test_credentials_from_before_the_engines_start_are_delivered_again(
    docker_under_test: DockerUnderTest,
    ran: Observation,
    calls: list[str],  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    start: datetime | None,
) -> None:
    """The machine may have failed, and lost what was written last."""
    monkeypatch.setattr("containers.docker.volumes.credentials.read_engine_start", lambda _: start)
    docker_under_test.vanish(docker_under_test.name)
    calls.clear()
    assert next_one(docker_under_test, ran) == SECRETS
    assert FILL in calls


def test_a_volume_of_an_older_version_is_filled_again(
    docker_under_test: DockerUnderTest,
    ran: Observation,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """It has no digest."""
    volume = secrets_volume(docker_under_test.name)
    labels = docker_under_test.client.inspect_volume(volume)["Labels"]
    docker_under_test.vanish(docker_under_test.name)
    docker_under_test.client.remove_volume(volume)
    labels.pop("berth.credentials")
    docker_under_test.client.create_volume(volume, labels=labels)
    calls.clear()
    assert next_one(docker_under_test, ran, well_since=datetime.now(UTC) + SECOND) == SECRETS
    assert FILL in calls


def test_a_volume_that_disappears_during_the_deploy_is_filled_again(
    docker_under_test: DockerUnderTest, ran: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine then creates an empty one with the container."""
    docker_under_test.vanish(docker_under_test.name)
    quota = docker_under_test.engine._quota
    create = quota.create

    def prune_first(*given: Any, **options: Any) -> str:
        docker_under_test.client.remove_volume(secrets_volume(docker_under_test.name))
        return create(*given, **options)

    monkeypatch.setattr(quota, "create", prune_first)
    assert next_one(docker_under_test, ran) == SECRETS


def test_a_failed_deploy_leaves_the_kept_volume(docker_under_test: DockerUnderTest, ran: Observation) -> None:
    docker_under_test.vanish(docker_under_test.name)
    spec = make_spec(docker_under_test, generation=2, user=USER, has_state=True, well_since=ran.started_at)
    with pytest.raises(SupersededError):
        docker_under_test.engine.deploy(spec, confirm=lambda: False)
    assert secrets_volume(docker_under_test.name) in docker_under_test.volumes(docker_under_test.name)
    assert next_one(docker_under_test, ran, generation=3) == SECRETS
