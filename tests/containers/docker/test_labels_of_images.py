"""Labels of Berth's in an image do not pass its container off as anything else: a gateway, a helper, another agent."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from containers.docker.engine import DockerEngine
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.payload import LABEL as GATEWAY
from containers.docker.gateway.payload import MADE_LABEL, WAY_LABEL, Way
from containers.docker.helpers import find_helpers
from containers.docker.networks import rules_container
from containers.docker.trials.payloads import agent_payload
from containers.docker.trials.runs import Trial
from containers.docker.volumes import measuring
from containers.docker.volumes.handover import abandon_handover
from containers.docker.volumes.users import Users
from containers.docker_api.client import Connection, DockerClient
from containers.engine.trials import TRIAL_LABEL
from containers.identity import (
    NO_LABELS,
    container_name,
    exit_network_name,
    gateway_name,
    helper_labels,
    own_labels,
)
from containers.swarm.tasks.job_containers import COPIES, MEASURES, remove_job_containers
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL, QUARANTINE_LABEL
from containers.volume_containers import CARRIER, HANDOVER_LABEL
from tests.busybox import pack_root
from tests.containers.docker.scripted_engine import GONE, ID, KEY, LABELS, SPEC, Answer
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec
from tests.fakes.docker_socket import FaultySocket

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

CHECKOUT = Path(__file__).resolve().parents[3]
NOT_OF_CONTAINERS = {
    *("berth.agent.contract", "berth.agent.capabilities", "berth.context"),  # of images
    *("berth.image", "berth.home", "berth.kept-on", "berth.copied-on", "berth.crashes"),  # of services
    *("berth.copied", "berth.awaited", "berth.ran-as"),  # of configs
    *("berth.plan", "berth.no-new-privileges"),  # of nodes and their engines
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


TALK = "#!/bin/sh\necho called >>/data/loot\nwhile read -r line; do echo '{}'; done\n"


@pytest.mark.docker
def test_an_image_with_every_label_is_an_agent_and_nothing_else(
    docker_under_test: DockerUnderTest, image_with: Any
) -> None:
    engine, connection = docker_under_test.engine, Connection()
    values = {**dict.fromkeys(KNOWN, settings.BERTH_INSTANCE), **own_labels(), PROJECT_LABEL: "another"}
    values |= {MADE_LABEL: "1" * 64, WAY_LABEL: "sideways"}
    root = pack_root({"agent": "#!/bin/sh\nexec sleep 1000\n", "talk": TALK}, applets=["sh", "sleep", "find", "chmod"])
    image = image_with(root, 'CMD ["/agent"]', "ENV PATH=/bin", *(f"LABEL {k}={v}" for k, v in values.items()))
    seen = deploy(docker_under_test, image=image)
    assert seen.key == docker_under_test.key
    assert not {*seen.labels} & (NO_LABELS.keys() - {*make_spec(docker_under_test).labels} - {
        "berth.generation", "berth.user", "berth.limits",
    })  # fmt: skip
    assert QUARANTINE_LABEL not in seen.labels
    assert engine.inspect_gateway() is None
    assert not [kind for kind in (measuring.LABEL, rules_container.LABEL, TRIAL_LABEL, COPIES, MEASURES)
                if find_helpers(connection, kind)]  # fmt: skip
    remove_job_containers(connection, f"{docker_under_test.name}-data")
    assert docker_under_test.is_running(docker_under_test.name)
    assert [each.key for each in engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})] == [docker_under_test.key]


@pytest.mark.docker
def test_a_trial_of_a_running_agent_s_image_is_not_that_agent(docker_under_test: DockerUnderTest) -> None:
    engine, client = docker_under_test.engine, docker_under_test.client
    before = deploy(docker_under_test)
    repository, tag = f"berth-test/{docker_under_test.name}", "committed"
    client.commit(docker_under_test.name, repository=repository, tag=tag)
    spec = make_spec(docker_under_test, image=f"{repository}:{tag}", labels=helper_labels(TRIAL_LABEL), secrets={})
    with Connection().call() as mine:
        trial = mine.create_container_from_config(agent_payload(spec, servers=before.container_id), None)["Id"]
    try:
        assert {PROJECT_LABEL: "", INSTANCE_LABEL: ""}.items() <= client.inspect_container(trial)["Config"][
            "Labels"
        ].items()
        assert (
            client.inspect_container(trial)["Config"]["Labels"][INSTALLATION_LABEL] == own_labels()[INSTALLATION_LABEL]
        )
        found = engine.inspect(docker_under_test.key)
        assert found
        assert found.container_id == before.container_id
        assert len(engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})) == 1
        assert Users(Connection(), engine._lookup).highest([]) == before_user(docker_under_test)
    finally:
        client.remove_container(trial, force=True, v=True)
        client.remove_image(f"{repository}:{tag}", force=True)


def before_user(under_test: DockerUnderTest) -> int:
    return int(under_test.client.inspect_container(under_test.name)["Config"]["User"].partition(":")[0])
