"""Helper containers of two installations with one name on one engine, of which one has a wrong clock."""

import json
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.conf import settings

from containers.docker.engine import DockerEngine
from containers.docker.helpers import remove_helper
from containers.docker.networks import rules_container
from containers.docker.networks.rules_container import run_helper
from containers.docker.volumes import measuring
from containers.docker.volumes.measuring import Measuring, measuring_payload
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.hardening import data_volume
from containers.identity import container_name, own_labels
from containers.vocabulary import INSTALLATION_LABEL, PROJECT_LABEL
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.elsewhere import ELSEWHERE
from tests.containers.engine_fixtures import deploy
from tests.fakes.docker_socket import FaultySocket
from tests.installations import ours, theirs

pytestmark = pytest.mark.one_database

KINDS: dict[str, Callable[[Connection], None]] = {
    measuring.LABEL: lambda connection: Measuring(connection, "an-image").remove_left_behind(),
    rules_container.LABEL: rules_container.remove_left_behind,
}
WHOSE = {"ours": {INSTALLATION_LABEL: ours()}, "theirs": {INSTALLATION_LABEL: theirs()}, "of before there were ids": {}}
IDS = {whose: str(number) * 64 for number, whose in enumerate(WHOSE)}
MAY_GO = ["ours", "of before there were ids"]
LONG_AGO = 1_000_000_000
"""Seconds since 1970. A clock that goes wrong makes all containers of others look this old."""


def removed(daemon: FaultySocket) -> list[str]:
    """The installation whose containers the engine was told to remove."""
    asked = " ".join(each for each in daemon.requests if each.startswith("DELETE "))
    return [whose for whose, container_id in IDS.items() if container_id in asked]


def list_all(daemon: FaultySocket, kind: str, *, created: int = LONG_AGO) -> None:
    rows = [
        {"Id": IDS[whose], "Created": created, "Labels": {kind: settings.BERTH_INSTANCE, **labels}}
        for whose, labels in WHOSE.items()
    ]
    daemon.script["GET /containers/json"] = [("answer", 200, json.dumps(rows).encode())]


@pytest.mark.parametrize("kind", KINDS)
def test_helpers_of_another_installation_are_not_removed_as_remains(daemon: FaultySocket, kind: str) -> None:
    list_all(daemon, kind)
    KINDS[kind](Connection())
    assert removed(daemon) == MAY_GO


def test_a_removal_does_not_end_a_measurement_of_another_installation(daemon: FaultySocket) -> None:
    state = {
        "Name": data_volume(container_name("1")),
        "Labels": {**own_labels(), PROJECT_LABEL: "1"},
        "CreatedAt": "2026-11-20T12:00:00Z",
    }
    daemon.script["GET /volumes"] = [("answer", 200, json.dumps({"Volumes": [state]}).encode())]
    list_all(daemon, measuring.LABEL)
    DockerEngine()._disks.give_way("1")
    assert removed(daemon) == MAY_GO


@pytest.mark.docker
def test_each_installation_removes_only_its_own_helpers(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both run at once, and each considers the other's too old."""
    for module in (measuring, rules_container):
        monkeypatch.setattr(module, "_LEFT_BEHIND", -measuring._LEFT_BEHIND)
    deploy(docker_under_test)
    client, connection = docker_under_test.client, Connection()

    def make() -> str:
        payload = measuring_payload("sleep 1000", [], image=docker_under_test.image)
        return str(client.create_container_from_config(payload, f"{docker_under_test.name}-{uuid4().hex[:8]}")["Id"])

    def exists(container_id: str) -> bool:
        return bool(client.containers(all=True, filters={"id": container_id}))

    mine = make()
    with ELSEWHERE:
        foreign = make()
    KINDS[measuring.LABEL](connection)
    assert (exists(mine), exists(foreign)) == (False, True)
    mine = make()
    with ELSEWHERE:
        KINDS[measuring.LABEL](connection)
    assert (exists(mine), exists(foreign)) == (True, False)
    client.remove_container(mine, force=True)


@pytest.mark.docker
def test_the_container_of_the_rules_carries_our_id(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(docker_under_test)
    seen: list[dict[str, str]] = []

    def note(connection: Connection, container_id: str) -> None:
        seen.append(docker_under_test.client.inspect_container(container_id)["Config"]["Labels"])
        remove(connection, container_id)

    remove = remove_helper
    monkeypatch.setattr(rules_container, "remove_helper", note)
    with pytest.raises(EngineRefusedError):
        run_helper(Connection(), "exit 3", network="bridge", image=docker_under_test.image)
    assert {INSTALLATION_LABEL: ours(), rules_container.LABEL: settings.BERTH_INSTANCE}.items() <= seen[0].items()
