"""Docker under the contract tests, with real programs."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import docker
from django.conf import settings

from containers.docker.engine import DockerEngine
from containers.docker.gateway.payload import LABEL as GATEWAY_LABEL
from containers.identity import container_name, network_name
from containers.vocabulary import INSTANCE_LABEL, ContainerSpec
from tests.containers.engine_fixtures import deploy, make_spec
from tests.containers.inside import FORGET, run_inside
from tests.waiting import wait_until


class DockerUnderTest:
    def __init__(self, engine: DockerEngine, client: docker.APIClient, images: tuple[str, str]) -> None:
        self.engine = engine
        self.client: Any = client
        self.image, self.probed_image = images
        self.key = str(uuid4())
        self.name = container_name(self.key)

    def unstartable(self, spec: ContainerSpec) -> ContainerSpec:
        """Docker accepts a NUL in the environment of a new container, and fails to start it."""
        return make_spec(self, generation=spec.generation, environment={"MODE": "a\0b"})

    def play(self, name: str, mode: str) -> None:
        """The program in the image does it by itself."""

    def foreign(self, name: str, labels: dict[str, str]) -> str:
        made = self.client.create_container(self.image, name=name, labels={**labels, "berth-test": "foreign"})
        self.client.start(made["Id"])
        return str(made["Id"])

    def id_of(self, name: str) -> str | None:
        found = self.client.containers(all=True, filters={"name": f"^/{name}$"})
        return str(found[0]["Id"]) if found else None

    def is_running(self, name: str) -> bool:
        return bool(self.client.inspect_container(name)["State"]["Running"])

    def pause(self, name: str) -> None:
        self.client.pause(name)

    def kill(self, name: str) -> None:
        self.client.kill(name)
        wait_until(lambda: not self.is_running(name))

    def vanish(self, name: str) -> None:
        self.client.remove_container(name, force=True)

    def rename(self, name: str, new: str) -> None:
        self.client.rename(name, new)

    def change(self, name: str, what: str) -> None:
        if what == "restart policy":
            self.client.update_container(name, restart_policy={"Name": "on-failure"})
        if what == "limits":
            self.client.update_container(name, mem_limit=64 << 20, memswap_limit=64 << 20)
        if what.startswith("on another"):
            self.client.connect_container_to_network(name, "bridge")
        if what in {"off its network", "on another network only"}:
            self.client.disconnect_container_from_network(name, network_name())

    def volumes(self, name: str) -> set[str]:
        found = self.client.volumes(filters={"name": name})["Volumes"] or []
        return {volume["Name"] for volume in found if volume["Name"].startswith(name)}

    def secrets(self, name: str) -> dict[str, str]:
        chunks, _ = self.client.get_archive(name, "/run/secrets")
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            files = {member.name.rpartition("/")[2]: archive.extractfile(member) for member in archive.getmembers()}
            return {file: content.read().decode() for file, content in files.items() if content}

    def kept(self) -> Iterator[bytes]:
        return self.engine.read_state(self.key, image=self.image)

    def forget(self) -> None:
        code, output = self.run("sh", "-c", FORGET)
        assert code == 0, output

    def set_silence(self, monkeypatch: Any) -> None:
        # No shorter: a busy engine takes time to open a log.
        monkeypatch.setattr("containers.docker.logs.SILENCE", 3.0)

    def deploy_healthy(self) -> None:
        deploy(self, image=self.probed_image)
        self.run("touch", "/tmp/well")
        wait_until(lambda: self.client.inspect_container(self.name)["State"]["Health"]["Status"] == "healthy")

    def address_of(self, name: str) -> str | None:
        (found,) = self.client.inspect_container(name)["NetworkSettings"]["Networks"].values()
        return str(found["IPAddress"])

    def gateways(self) -> list[str]:
        filters = {"label": f"{GATEWAY_LABEL}={settings.BERTH_INSTANCE}"}
        return [str(each["Id"]) for each in self.client.containers(all=True, filters=filters)]

    def stop_gateway(self) -> None:
        found = self.engine.inspect_gateway()
        assert found
        self.client.stop(found.container_id)

    def run(self, *command: str, name: str = "") -> tuple[int, str]:
        """Runs a command inside the container. Returns exit code and output."""
        return run_inside(self.client, name or self.name, *command)

    def clean_up(self) -> None:
        for label in (f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", "berth-test=foreign"):
            for found in self.client.containers(all=True, filters={"label": label}):
                if found["Names"][0].startswith(f"/{settings.BERTH_INSTANCE}-"):
                    self.client.remove_container(found["Id"], force=True, v=True)
        for volume in self.volumes(settings.BERTH_INSTANCE + "-"):
            with suppress(docker.errors.NotFound):
                self.client.remove_volume(volume)
