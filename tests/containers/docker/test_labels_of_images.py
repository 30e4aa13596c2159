"""Labels of Berth's in an image do not pass its container off as anything else: a gateway, a helper, another agent."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from containers.credential_digest import DIGEST_LABEL
from containers.docker.engine import DockerEngine
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.payload import LABEL as GATEWAY
from containers.docker.gateway.payload import WAY_LABEL, Way
from containers.docker.helpers import find_helpers
from containers.docker.networks import rules_container
from containers.docker.trials.runs import Trial
from containers.docker.volumes import measuring
from containers.docker.volumes.handover import abandon_handover
from containers.docker_api.client import Connection, DockerClient
from containers.engine.trials import TRIAL_LABEL
from containers.identity import (
    NO_LABELS,
    container_name,
    exit_network_name,
    gateway_name,
    helper_labels,
)
from containers.swarm.tasks.job_containers import remove_job_containers
from containers.vocabulary import PROJECT_LABEL, QUARANTINE_LABEL
from containers.volume_containers import CARRIER, HANDOVER_LABEL
from tests.containers.docker.scripted_engine import GONE, ID, KEY, LABELS, SPEC, Answer
from tests.fakes.docker_socket import FaultySocket

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

CHECKOUT = Path(__file__).resolve().parents[3]
NOT_OF_CONTAINERS = {
    *("berth.agent.contract", "berth.agent.capabilities", "berth.context"),  # of images
    *("berth.image", "berth.home", "berth.kept-on", "berth.copied-on", "berth.crashes"),  # of services
    *("berth.copied", "berth.awaited", "berth.ran-as"),  # of configs
    *("berth.plan", "berth.no-new-privileges"),  # of nodes and their engines
    DIGEST_LABEL,  # of volumes
    QUARANTINE_LABEL,  # told by the network
}
KNOWN = sorted({*NO_LABELS, *NOT_OF_CONTAINERS})


def named_in_code() -> set[str]:
    """The texts that look like labels in assignments to constants."""
    files = [*CHECKOUT.glob("containers/**/*.py"), *CHECKOUT.glob("projects/services/**/*.py")]
    lines = [line for file in files for line in file.read_text().splitlines() if re.match(r"[A-Z_, ]+ = ", line)]
    found = {label for line in lines for label in re.findall(r'"(berth\.[a-z.-]+)"', line)}
    return found | {"berth.copies.of"}  # made up of two texts


def test_every_label_is_known() -> None:
    """A new label of containers has to be in `NO_LABELS`."""
    assert named_in_code() - {"berth.tracing"} == set(KNOWN)


def test_no_label_is_among_those_that_an_older_berth_takes_for_present() -> None:
    assert QUARANTINE_LABEL not in NO_LABELS


def row(labels: dict[str, str], *, network: str = "agents", name: str = container_name(KEY)) -> Answer:
    found = {
        "Id": ID,
        "Names": [f"/{name}"],
        "Labels": labels,
        "State": "running",
        "Status": "Up 3 seconds",
        "Created": 1_000_000_000,
        "HostConfig": {"NetworkMode": network},
        "NetworkSettings": {"Networks": {network: {}}},
    }
    return "answer", 200, json.dumps([found]).encode()


FINDERS: dict[str, Callable[[Connection], object]] = {
    "gateway": lambda connection: GatewayContainers(connection).list(),
    "measures": lambda connection: find_helpers(connection, measuring.LABEL),
    "rules": lambda connection: find_helpers(connection, rules_container.LABEL),
    "trial's helpers": lambda connection: find_helpers(connection, TRIAL_LABEL),
    "trial": lambda connection: Trial(connection, SPEC)._remove_left_behind(),
    "jobs": lambda connection: remove_job_containers(connection, "volume"),
    "quarantine": lambda _: [seen for seen in DockerEngine().observe({}) if QUARANTINE_LABEL in seen.labels],
}


@pytest.mark.parametrize("label", KNOWN)
def test_an_agent_that_exists_with_the_label_is_nothing_else(daemon: FaultySocket, label: str) -> None:
    """Its image had the label, and it was created before Berth knew what to do about that."""
    daemon.script["GET /containers/json"] = [row({label: settings.BERTH_INSTANCE, **LABELS, "berth.generation": "1"})]
    daemon.script["GET /info"] = [("answer", 200, b'{"SystemTime": "2026-11-20T12:00:00Z"}')]
    found = {name: find(Connection()) for name, find in FINDERS.items()}
    assert not any(found.values()), found
    assert not [each for each in daemon.requests if each.startswith(("DELETE ", "POST "))]


def test_an_agent_is_not_taken_for_a_carrier_of_its_own_memory(daemon: FaultySocket) -> None:
    daemon.script["GET /containers/json"] = [row({HANDOVER_LABEL: f"{container_name(KEY)}{CARRIER}", **LABELS})]
    daemon.script[f"GET /containers/{container_name(KEY)}-handover/json"] = [GONE]
    engine = DockerEngine()
    abandon_handover(engine._lookup, engine._containers, KEY)
    assert not [each for each in daemon.requests if each.startswith(("DELETE ", "POST "))]


@pytest.mark.parametrize(
    ("name", "network", "is_it"),
    [
        ("agent", "agents", False),
        ("agent", "container:1", False),
        ("{gateway}-1", "agents", True),  # the operator has changed the name of the network since
        ("another-name", "{exit}", True),  # renamed
        ("{gateway}-1", "{exit}", True),
    ],
)
def test_a_gateway_has_proof_beside_its_labels(daemon: FaultySocket, *, name: str, network: str, is_it: bool) -> None:
    """What has no key of a project may be a trial of an image with the label."""
    words = {"gateway": gateway_name(), "exit": exit_network_name()}
    daemon.script["GET /containers/json"] = [
        row(helper_labels(GATEWAY), name=name.format(**words), network=network.format(**words))
    ]
    assert bool(GatewayContainers(Connection()).list()) is is_it


@pytest.mark.parametrize("way", ["", "passage", "port", "sideways"])
def test_a_gateway_with_a_way_that_nobody_knows_can_be_read(daemon: FaultySocket, way: str) -> None:
    daemon.script["GET /containers/json"] = [
        row({**helper_labels(GATEWAY), WAY_LABEL: way}, network=exit_network_name())
    ]
    [found] = GatewayContainers(Connection()).list()
    assert found.way is (Way.PORT if way == "port" else Way.PASSAGE)


def test_each_container_is_created_with_all_labels(monkeypatch: pytest.MonkeyPatch, daemon: FaultySocket) -> None:
    sent: list[dict[str, Any]] = []

    def note(_: object, __: str, *, data: dict[str, Any], **___: object) -> None:
        sent.append(data)
        raise RuntimeError

    monkeypatch.setattr(DockerClient, "_post_json", note)
    for payload in ({"Image": "i"}, {"Image": "i", "Labels": {PROJECT_LABEL: "1"}}):
        with pytest.raises(RuntimeError), Connection().call() as client:
            client.create_container_from_config(payload, "name")
        service = {"TaskTemplate": {"ContainerSpec": payload}, "Labels": {"berth.image": "i"}}
        with pytest.raises(RuntimeError), Connection().call() as client:
            client.create_service_from(service)
        body = sent[-1]["TaskTemplate"]["ContainerSpec"]
        assert body == sent[-2] == {**payload, "Labels": {**NO_LABELS, **payload.get("Labels", {})}}  # type: ignore[dict-item]  # of two shapes
        assert sent[-1]["Labels"] == {"berth.image": "i"}, "A service has no image's labels."
