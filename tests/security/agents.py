"""Agents that try to get out: deployed by the service's own engine, on a network and with rules of their own."""

import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import docker
import docker.errors
from django.conf import settings
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.firewall.iptables import remove_rules
from containers.identity import own_labels
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec, Observation
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.security.inside.main import FOUND
from tests.waiting import wait_until

INSIDE = Path(__file__).resolve().parent / "inside"
PACKAGE = "tests/security/inside"
DOCKERFILE = f"""\
FROM berth/assistant:latest
USER root
COPY . /probe
RUN cp /usr/bin/id /probe/setuid-id && chmod 4755 /probe/setuid-id
USER 10001:10001
WORKDIR /probe
HEALTHCHECK NONE
ENTRYPOINT ["/opt/agent/bin/python3", "-m", "{PACKAGE.replace("/", ".")}.main"]
"""
SECRETS = {"telegram_bot_token": CANARY_TELEGRAM_TOKEN, "agent_api_key": CANARY_API_KEY}
MEGABYTE = 1 << 20
FIRST_USER = 1_900_000_000


def build_probe_image(client: Any, tag: str) -> str:
    """Builds an image with the agent's base and another program. Returns its name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        _add(archive, "Dockerfile", DOCKERFILE.encode())
        for folder in ("tests", "tests/security"):
            _add(archive, f"{folder}/__init__.py", b"")
        for file in INSIDE.glob("*.py"):
            _add(archive, f"{PACKAGE}/{file.name}", file.read_bytes())
    buffer.seek(0)
    image = f"berth-test/probe:{tag}"
    for said in client.build(fileobj=buffer, custom_context=True, tag=image, rm=True, forcerm=True, decode=True):
        assert "error" not in said, said
    return image


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))


@dataclass
class Agents:
    """Agents of the probe image on the engine, with a separate instance name, and containers without hardening."""

    client: Any
    image: str
    instance: str
    engine: DockerEngine = field(default_factory=DockerEngine)
    allow: list[tuple[str, int | None]] = field(default_factory=list)
    runtime: str = ""
    users: dict[str, int] = field(default_factory=dict)
    """The user of each deployed agent by its name: its own, as for each project."""

    @contextmanager
    def settings(self) -> Iterator[None]:
        with override_settings(
            BERTH_INSTANCE=self.instance,
            BERTH_CONTAINER_NETWORK=f"{self.instance}-agents",
            BERTH_EGRESS_ALLOW=self.allow,
            BERTH_CONTAINER_RUNTIME=self.runtime,
        ):
            yield

    def deploy(self, mode: str, *, environment: dict[str, str] | None = None, **changes: Any) -> Observation:
        """Deploys like `create_project`, with the figures of the plan `free` by default."""
        name = changes.pop("name", f"{self.instance}-{uuid4()}")
        values: dict[str, Any] = {
            "name": name,
            "image": self.image,
            "labels": {
                **own_labels(),
                INSTANCE_LABEL: self.instance,
                "berth.project": name,
                "berth.owner": "alice",
            },
            "generation": 1,
            "environment": {"MODE": mode, **(environment or {})},
            "secrets": SECRETS,
            "memory": 256 * MEGABYTE,
            "nano_cpus": 250_000_000,
            "pids": 128,
            "stop_timeout": 2,
            "user": self.users.setdefault(name, FIRST_USER + len(self.users)),
        }
        with self.settings():
            return self.engine.deploy(ContainerSpec(**values | changes), confirm=lambda: True)

    def found_by(self, name: str, *, seconds: float = 60) -> Any:
        """Returns what the agent of this name has found, once it says so."""

        def find() -> str | None:
            with self.settings():
                lines = [line.decode().partition(" ")[2] for line in self.engine.logs(name, tail=2)]
            return next((line for line in lines if line.startswith(FOUND)), None)

        return json.loads(wait_until(find, within=seconds, every=0.1).removeprefix(FOUND))

    def observe(self, name: str) -> Observation:
        with self.settings():
            found = self.engine.inspect(name)
        assert found is not None
        return found

    def address_of(self, name: str, network: str = "") -> str:
        ends = self.client.inspect_container(name)["NetworkSettings"]["Networks"]
        return str(ends[network or f"{self.instance}-agents"]["IPAddress"])

    def gateway(self) -> str:
        with self.settings():
            network = self.client.inspect_network(settings.BERTH_CONTAINER_NETWORK)
        return str(network["IPAM"]["Config"][0]["Gateway"])

    def run_unconfined(self, mode: str, *, environment: dict[str, str] | None = None, **options: Any) -> str:
        """Runs a container of the same image without any hardening. Returns its name; it is removed with the others."""
        name = f"{self.instance}-free-{uuid4().hex[:8]}"
        user = options.pop("user", None)
        ports = options.pop("ports", None)
        more = options.pop("more", {})
        made = self.client.create_container(
            self.image,
            name=name,
            user=user,
            ports=ports,
            environment={"MODE": mode, **(environment or {})},
            labels={INSTANCE_LABEL: self.instance, PROJECT_LABEL: name},
            host_config={**self.client.create_host_config(**options), **more},
        )
        self.client.start(made["Id"])
        return name

    def place_stranger(self, name: str, stranger: str) -> None:
        """Starts a process of root's inside the container, as an administrator of the host can."""
        started = self.client.exec_create(name, ["/bin/sh", "-c", "sleep 60; :", stranger], user="0")
        self.client.exec_start(started, detach=True)

    def remove_all(self) -> None:
        for found in self.client.containers(all=True, filters={"label": f"{INSTANCE_LABEL}={self.instance}"}):
            self.client.remove_container(found["Id"], force=True, v=True)
        for volume in self.client.volumes(filters={"name": f"{self.instance}-"})["Volumes"] or []:
            with suppress(docker.errors.NotFound):
                self.client.remove_volume(volume["Name"])

    def close(self) -> None:
        self.remove_all()
        with self.settings():
            remove_rules()
        for network in self.client.networks(filters={"name": f"{self.instance}-"}):
            self.client.remove_network(network["Id"])
