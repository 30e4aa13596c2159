"""A Docker engine that answers all that commands ask of it, and does nothing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.docker_socket import FaultySocket

IMAGE = {
    "Id": "sha256:" + "1" * 64, "RepoTags": ["debian:latest"], "Config": {"Labels": {}},
    "RepoDigests": ["127.0.0.1:5000/berth/assistant@sha256:" + "2" * 64],
    "Os": "linux", "Architecture": "amd64",
}  # fmt: skip
NODE = {
    "ID": "n1", "Spec": {"Role": "manager", "Availability": "active", "Labels": {}},
    "Status": {"State": "ready", "Addr": "127.0.0.1"},
    "Description": {
        "Hostname": "one", "Resources": {"MemoryBytes": 8 << 30, "NanoCPUs": 4_000_000_000},
        "Engine": {"EngineVersion": "20.10.24"},
    },
}  # fmt: skip
INFO = {
    "ID": "engine", "Name": "one", "ServerVersion": "20.10.24", "MemTotal": 8 << 30, "NCPU": 4, "SecurityOptions": [],
    "Runtimes": {"runc": {}}, "DefaultRuntime": "runc", "Swarm": {"NodeID": "n1", "LocalNodeState": "active"},
    "Driver": "overlay2", "DockerRootDir": "/var/lib/docker", "OperatingSystem": "Debian", "OSType": "linux",
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "GET /_ping": "OK", "GET /info": INFO, "GET /nodes": [NODE], "GET /containers/json": [], "GET /networks": [],
    "GET /volumes": {"Volumes": []}, "GET /images/json": [], "GET /tasks": [], "GET /services": [], "GET /configs": [],
    "GET /images/debian/json": IMAGE, "GET /images/berth/assistant/json": IMAGE,
    f"GET /images/debian%40{IMAGE['Id']}/json": IMAGE, f"GET /images/{IMAGE['Id']}/json": IMAGE, "GET /secrets": [],
    "GET /images/python:3.13-slim/json": IMAGE, "GET /swarm": {"ID": "swarm"}, "POST /images/berth/assistant/tag": "",
    "POST /images/127.0.0.1:5000/berth/assistant/push": {"status": "Pushed"},
    "GET /images/127.0.0.1:5000/berth/assistant:latest/json": IMAGE,
    "POST /build": {"stream": "Step 1/1 : FROM debian\n"},
}  # fmt: skip


class _AnsweringSocket(FaultySocket):
    def _choose(self, request: str) -> tuple[str, int, bytes]:
        mode, status, body = super()._choose(request)
        is_image = status == 404 and "/images/" in request  # by its message a client knows what is missing
        return mode, status, b'{"message": "No such image"}' if is_image else body


@contextmanager
def answering_engine(folder: Path) -> Iterator[str]:
    """Yields its address."""
    server = _AnsweringSocket(folder / "docker.sock")
    server.status, server.body = 404, b'{"message": "there is no such thing"}'
    server.script = {
        request: [("answer", 200, body.encode() if isinstance(body, str) else json.dumps(body).encode())]
        for request, body in ANSWERS.items()
    }
    try:
        yield server.url
    finally:
        server.close()
