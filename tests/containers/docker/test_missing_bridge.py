"""Someone may have removed a network's bridge from the kernel, which an engine creates again only at its own start."""

import json

import pytest

from containers.docker.networks import endpoints
from containers.docker_api.client import Connection
from containers.docker_api.errors import EngineFailedError
from containers.errors import EngineUnavailableError
from containers.firewall.bridge import bridge_name, gateway_bridge_name
from containers.identity import gateway_network_name, network_name, own_labels
from tests.containers.docker.scripted_engine import DONE, FAILED, FINE, GONE, ID, Answer
from tests.fakes.docker_socket import FaultySocket

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

AGENT, NOBODYS = "a" * 64, "ep-" + "e" * 64
NETWORK = "n" * 64
START = f"POST /containers/{ID}/start"
LEAVE, REMOVE = f"POST /networks/{NETWORK}/disconnect", f"DELETE /networks/{NETWORK}"


def gone(bridge: str) -> Answer:
    said = (
        f"adding interface veth4f to bridge {bridge} failed: could not find bridge {bridge}: no such network interface"
    )
    return "answer", 500, json.dumps({"message": said}).encode()


def script(daemon: FaultySocket, name: str, start: list[Answer], labels: dict[str, str]) -> None:
    found = {"Id": NETWORK, "Labels": labels, "Containers": {AGENT: {"Name": "one"}, NOBODYS: {"Name": "two"}}}
    daemon.script |= {
        START: start,
        f"GET /networks/{name}": [("answer", 200, json.dumps(found).encode())],
        LEAVE: [FINE],
        REMOVE: [DONE],
    }


def changes(daemon: FaultySocket) -> list[str]:
    asked = [line.split(" HTTP")[0].replace("/v1.41", "") for line in daemon.requests]
    return [line for line in asked if not line.startswith("GET")]


@pytest.mark.parametrize("is_gateways", [False, True])
def test_a_network_without_its_bridge_is_recreated(daemon: FaultySocket, *, is_gateways: bool) -> None:
    bridge, name = (gateway_bridge_name(), gateway_network_name()) if is_gateways else (bridge_name(), network_name())
    script(daemon, name, [gone(bridge)], own_labels())
    with pytest.raises(EngineUnavailableError, match="is being created again"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START, START, LEAVE, LEAVE, REMOVE]


def test_a_network_recreated_by_another_process_is_kept(daemon: FaultySocket) -> None:
    script(daemon, network_name(), [gone(bridge_name()), DONE], own_labels())
    endpoints.start(Connection(), ID)
    assert changes(daemon) == [START, START]


@pytest.mark.parametrize(("bridge", "labels"), [("docker0", True), ("", False)], ids=["another bridge", "not ours"])
def test_no_other_network_is_touched(daemon: FaultySocket, bridge: str, *, labels: bool) -> None:
    script(daemon, network_name(), [gone(bridge or bridge_name())], own_labels() if labels else {})
    with pytest.raises(EngineFailedError, match="could not find bridge"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START]


@pytest.mark.parametrize("step", [LEAVE, REMOVE])
def test_a_removal_by_another_process_counts(daemon: FaultySocket, step: str) -> None:
    script(daemon, network_name(), [gone(bridge_name())], own_labels())
    daemon.script[step] = [GONE]
    with pytest.raises(EngineUnavailableError, match="is being created again"):
        endpoints.start(Connection(), ID)


def test_another_error_at_the_second_attempt_is_raised_unchanged(daemon: FaultySocket) -> None:
    script(daemon, network_name(), [gone(bridge_name()), FAILED], own_labels())
    with pytest.raises(EngineFailedError, match="no luck"):
        endpoints.start(Connection(), ID)
    assert changes(daemon) == [START, START]
