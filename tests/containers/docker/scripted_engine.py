"""The answers of a Docker engine on which everything works, and of one that fails in one place."""

import io
import json
import tarfile
from typing import Any

from containers.firewall.bridge import bridge_name
from containers.identity import container_name, former_name, gateway_network_name, network_name, own_labels
from containers.vocabulary import ContainerSpec

KEY, ID = "1", "c" * 64
LABELS = {**own_labels(), "berth.project": KEY}
NAME, FORMER_NAME = container_name(KEY), former_name(KEY)
SPEC = ContainerSpec(
    name=NAME, image="berth/x", labels=LABELS, generation=1, environment={}, secrets={"a": "b"},
    memory=1, nano_cpus=1, pids=1, stop_timeout=1,
)  # fmt: skip

Answer = tuple[str, int, bytes]
LOST: Answer = ("close", 0, b"")
FAILED: Answer = ("answer", 500, b'{"message": "no luck"}')
GONE: Answer = ("answer", 404, b'{"message": "No such container"}')
DONE: Answer = ("answer", 204, b"")
FINE: Answer = ("answer", 200, b"{}")
NO_VOLUME: Answer = ("answer", 404, b'{"message": "no such volume"}')
NO_CONTAINERS: Answer = ("answer", 200, b"[]")
NO_VOLUMES: Answer = ("answer", 200, b'{"Volumes": null}')
STATE = {"Name": f"{NAME}-data", "Labels": LABELS, "CreatedAt": "2026-11-20T12:00:00Z"}
OUR_STATE: Answer = ("answer", 200, json.dumps({"Volumes": [STATE]}).encode())
OUR_VOLUME: Answer = ("answer", 200, json.dumps({**STATE, "Labels": {**LABELS, "berth.generation": "1"}}).encode())
CONFLICT: Answer = ("answer", 409, b'{"message": "removal of container is already in progress"}')
CREATED: Answer = ("answer", 201, json.dumps({"Id": ID}).encode())


def data(*, user: int) -> Answer:
    """An archive of an empty /data that belongs to the user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("data")
        entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, 0o700, user, user
        archive.addfile(entry)
    return "answer", 200, buffer.getvalue()


DATA = data(user=SPEC.user)


def container(state: str, *, health: str = "") -> Answer:
    never, began = "0001-01-01T00:00:00Z", "2026-11-20T12:00:00.123456789Z"
    said: dict[str, Any] = {
        "Id": ID,
        "Name": f"/{NAME}",
        "Created": began,
        "Image": "sha256:" + "1" * 64,
        "RestartCount": 0,
        "Config": {"Labels": {**LABELS, "berth.generation": "1"}},
        "State": {
            "Status": state,
            "Running": state in {"running", "paused", "restarting"},
            "ExitCode": 0,
            "OOMKilled": False,
            "StartedAt": never if state == "created" else began,
            "FinishedAt": never,
            **({"Health": {"Status": health}} if health else {}),
        },
    }
    return "answer", 200, json.dumps(said).encode()


IMAGE = "answer", 200, b'{"Id": "sha256:%s"}' % (b"1" * 64)


def working_script() -> dict[str, list[Answer]]:
    """An engine on which everything works, with no container yet."""
    network = {
        "Name": network_name(),
        "Labels": own_labels(),
        "Options": {
            "com.docker.network.bridge.enable_icc": "false",
            "com.docker.network.bridge.name": bridge_name(),
        },
    }
    bridge = {"Name": "bridge", "Created": "2026-11-20T11:00:00Z"}
    return {
        "GET /networks/bridge": [("answer", 200, json.dumps(bridge).encode())],
        f"GET /networks/{network_name()}": [("answer", 200, json.dumps(network).encode())],
        f"GET /networks/{gateway_network_name()}": [GONE],
        "GET /containers/json": [NO_CONTAINERS],  # a list may lack a container, and then its name decides
        "GET /volumes": [NO_VOLUMES],
        f"GET /containers/{NAME}/json": [GONE],
        f"GET /containers/{FORMER_NAME}/json": [GONE],
        f"GET /volumes/{FORMER_NAME}-data": [NO_VOLUME],
        f"GET /volumes/{FORMER_NAME}-secrets": [NO_VOLUME],
        f"GET /containers/{ID}/json": [GONE],
        f"GET /volumes/{NAME}-data": [NO_VOLUME, OUR_VOLUME],  # there is none before the deploy
        f"GET /volumes/{NAME}-secrets": [NO_VOLUME, OUR_VOLUME],  # there is none before the deploy
        f"DELETE /volumes/{NAME}-data": [DONE],
        f"DELETE /volumes/{NAME}-secrets": [DONE],
        f"GET /images/{SPEC.image}/json": [IMAGE],
        "POST /containers/create": [CREATED],
        f"GET /containers/{ID}/archive": [DATA],
        f"GET /containers/{NAME}-handover/json": [GONE],
        f"PUT /containers/{ID}/archive": [FINE],
        f"POST /containers/{ID}/start": [DONE],
        f"POST /containers/{ID}/stop": [DONE],
        f"DELETE /containers/{ID}": [DONE],
    }
