"""An engine may keep the endpoint of a container that has ended, and then cannot start another one with its name."""

import json
from typing import Any

import pytest

from containers.docker.engine import DockerEngine
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.networks import endpoints
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.identity import own_labels
from containers.vocabulary import ContainerState
from tests.containers.docker.scripted_engine import DONE, FAILED, FINE, GONE, ID, NAME, SPEC, Answer, container
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database

NETWORK = "agents-gateway"
SAID = json.dumps({"message": f"endpoint with name {NAME} already exists in network {NETWORK}"}).encode()
KEPT: Answer = ("answer", 403, SAID)
CHANGES = ("/rename", "/disconnect", "/start", "/connect")


def network(holder: str, labels: dict[str, str], *, name: str = NAME) -> Answer:
    places = {holder: {"Name": name, "IPv4Address": "172.30.128.9/17"}} if holder else {}
    return "answer", 200, json.dumps({"Id": "n" * 64, "Labels": labels, "Containers": places}).encode()


def script(daemon: FaultySocket, start: list[Answer], **found: Any) -> None:
    daemon.script |= {
        f"POST /containers/{ID}/start": start,
        f"GET /networks/{NETWORK}": [network(**{"holder": "ep-" + "e" * 64, "labels": own_labels(), **found})],
        f"POST /containers/{ID}/rename": [DONE],
        f"POST /networks/{'n' * 64}/disconnect": [FINE],
        f"POST /networks/{NETWORK}/connect": start,
        f"POST /containers/{ID}/update": [FINE],
    }


def changes(daemon: FaultySocket) -> list[str]:
    asked = [line.split(" HTTP")[0].replace("/v1.41", "") for line in daemon.requests]
    return [line for line in asked if any(word in line for word in CHANGES)]


START = f"POST /containers/{ID}/start"
FREED = [
    f"POST /containers/{ID}/rename?name={NAME}-{ID[:8]}",
    f"POST /networks/{'n' * 64}/disconnect",
    f"POST /containers/{ID}/rename?name={NAME}",
]


@pytest.mark.parametrize("holder", ["ep-" + "e" * 64, ID], ids=["nobody", "itself"])
def test_a_kept_endpoint_is_released_and_the_agent_is_started(daemon: FaultySocket, holder: str) -> None:
    """To disconnect it by its own name or id would not release the endpoint."""
    script(daemon, [KEPT, DONE], holder=holder)
    if holder == ID:
        daemon.script[f"GET /containers/{ID}/json"] = [container("exited"), container("running")]
    daemon.script[f"GET /containers/{NAME}/json"] = [GONE, container("running")]
    assert DockerEngine().deploy(SPEC, confirm=lambda: True).state is not ContainerState.EXITED
    assert changes(daemon) == [START, *FREED, START]


def test_a_gateway_is_started_and_joins_the_network_likewise(daemon: FaultySocket) -> None:
    script(daemon, [KEPT, DONE])
    GatewayContainers(Connection()).start(ID)
    assert changes(daemon) == [START, *FREED, START]
    daemon.requests.clear()
    script(daemon, [KEPT, DONE])
    endpoints.connect(Connection(), ID, NETWORK, address="172.30.128.9")
    assert changes(daemon) == [f"POST /networks/{NETWORK}/connect", *FREED, f"POST /networks/{NETWORK}/connect"]


@pytest.mark.parametrize(
    ("found", "then"),
    [
        ({"holder": "d" * 64}, []),
        ({"labels": {}}, []),
        ({"labels": {"berth.instance": "another"}}, []),
        ({"holder": ""}, []),
        ({"name": "another"}, []),
        ({}, [*FREED, START]),
    ],
    ids=["who is up", "no labels", "another instance", "nobody's", "another's", "still there"],
)
def test_no_other_container_loses_its_endpoint_and_one_retry_is_made(
    found: dict[str, Any], then: list[str], daemon: FaultySocket
) -> None:
    script(daemon, [KEPT], **found)
    with pytest.raises(EngineRefusedError, match="already exists"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START, *then]


@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_running_container_keeps_its_own_endpoint(state: str, daemon: FaultySocket) -> None:
    """Such as the gateway that another process has just connected to the network."""
    script(daemon, [KEPT], holder=ID)
    daemon.script[f"GET /containers/{ID}/json"] = [container(state)]
    with pytest.raises(EngineRefusedError, match="already exists"):
        endpoints.connect(Connection(), ID, NETWORK, address="172.30.128.9")
    assert changes(daemon) == [f"POST /networks/{NETWORK}/connect"]


@pytest.mark.parametrize("step", [f"POST /networks/{'n' * 64}/disconnect", f"GET /networks/{NETWORK}"])
def test_if_the_endpoint_cannot_be_released_the_container_gets_its_name_back(step: str, daemon: FaultySocket) -> None:
    script(daemon, [KEPT])
    daemon.script[step] = [FAILED]
    with pytest.raises(EngineRefusedError, match="already exists"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START] if step.startswith("GET") else [START, *FREED]


def test_another_refusal_asks_for_nothing_more(daemon: FaultySocket) -> None:
    script(daemon, [("answer", 403, b'{"message": "no such device"}')])
    with pytest.raises(EngineRefusedError, match="no such device"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START]
    assert not any("networks" in line for line in daemon.requests)
