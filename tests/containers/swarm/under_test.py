"""A real Swarm of one node for the engine's contract tests."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import docker
from django.conf import settings

from containers.identity import container_name
from containers.swarm.engine import SwarmEngine
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec
from tests.containers.engine_fixtures import deploy, make_spec
from tests.containers.inside import FORGET, run_inside

ACCEPTED = ["no-new-privileges", "seccomp", "swap"]


def make_config_network(client: Any, network: str, *, subnet: str = "172.31.0.0/21") -> None:
    """Creates a node's part of the agents' network."""
    client._result(
        client._post_json(
            client._url("/networks/create"),
            data={
                "Name": f"{network}-config",
                "ConfigOnly": True,
                "IPAM": {"Config": [{"Subnet": subnet}]},
                "Options": {"com.docker.network.bridge.enable_icc": "false"},
            },
        )
    )


def read_volume(client: Any, image: str, volume: str) -> Iterator[bytes]:
    """Returns the files of a volume on the client's node as an archive."""
    mount = {"Type": "volume", "Source": volume, "Target": "/data", "VolumeOptions": {"NoCopy": True}}
    made = client.create_container(image, host_config={"Mounts": [mount]})
    try:
        yield from client.get_archive(made["Id"], "/data")[0]
    finally:
        client.remove_container(made["Id"], force=True)


class SwarmUnderTest:
    def __init__(self, engine: SwarmEngine, client: docker.APIClient, images: tuple[str, str]) -> None:
        self.engine = engine
        self.client: Any = client
        self.image, self.probed_image = images
        self.key = str(uuid4())
        self.name = container_name(self.key)

    def unstartable(self, spec: ContainerSpec) -> ContainerSpec:
        return make_spec(self, generation=spec.generation, environment={"MODE": "a\0b"})

    def play(self, name: str, mode: str) -> None:
        """Does nothing, because the program in the image behaves like this by itself."""

    def foreign(self, name: str, labels: dict[str, str]) -> str:
        template = {"ContainerSpec": {"Image": self.client.inspect_image(self.image)["Id"]}}
        payload = {"Name": name, "Labels": {**labels, "berth-test": "foreign"}, "TaskTemplate": template}
        made = self.client._post_json(self.client._url("/services/create"), data=payload)
        return str(self.client._result(made, json=True)["ID"])

    def id_of(self, name: str) -> str | None:
        with suppress(docker.errors.NotFound):
            return str(self.client.inspect_service(name)["ID"])
        return None

    def is_running(self, name: str) -> bool:
        """Returns whether the service should run."""
        found = self.client.inspect_service(name)["Spec"]
        held = (found["TaskTemplate"].get("Placement") or {}).get("Constraints") or []
        return bool(found["Mode"]["Replicated"].get("Replicas", 1)) and not held

    def kill(self, name: str) -> None:
        self.client.kill(self.container_of(name))

    def vanish(self, name: str) -> None:
        self.client.remove_service(name)

    def pause(self, name: str) -> None:
        self.client.pause(self.container_of(name))

    def volumes(self, name: str) -> set[str]:
        """Returns the names of volumes. An agent's secrets count as the volume that holds them on a single host."""
        found = self.client.volumes(filters={"name": name})["Volumes"] or []
        secrets = [secret["Spec"]["Labels"] for secret in self.client.secrets(filters={"name": f"{name}-"})]
        held = {f"{container_name(labels[PROJECT_LABEL])}-secrets" for labels in secrets}
        return {volume["Name"] for volume in found if volume["Name"].startswith(name)} | held

    def container_of(self, name: str) -> str:
        """Returns the id of the running container."""
        tasks = self.client.tasks(filters={"service": [name], "desired-state": ["running"]})
        return str(tasks[0]["Status"]["ContainerStatus"]["ContainerID"])

    def secrets(self, name: str) -> dict[str, str]:
        script = "cd /run/secrets && for f in *; do echo $f=$(cat $f); done"
        code, output = run_inside(self.client, self.container_of(name), "sh", "-c", script)
        assert code == 0, output
        return dict(line.split("=", 1) for line in output.splitlines())

    def kept(self) -> Iterator[bytes]:
        """Reads the volume directly, because the engine under test cannot."""
        yield from read_volume(self.client, self.image, f"{self.name}-data")

    def forget(self) -> None:
        code, output = run_inside(self.client, self.container_of(self.name), "sh", "-c", FORGET)
        assert code == 0, output

    def set_silence(self, monkeypatch: Any) -> None:
        monkeypatch.setattr("containers.swarm.observation.logs.SILENCE", 3.0)

    def deploy_healthy(self) -> None:
        deploy(self)

    def rename(self, name: str, new: str) -> None:
        raise NotImplementedError  # nobody can

    def change(self, name: str, what: str) -> None:
        raise NotImplementedError  # nobody can

    def address_of(self, name: str) -> str | None:
        return None  # a manager does not know

    def stop_gateway(self) -> None:
        raise NotImplementedError  # it has tests of its own

    def gateways(self) -> list[str]:
        return []

    def clean_up(self) -> None:
        for label in (f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", "berth-test=foreign"):
            for found in self.client.services(filters={"label": label}):
                self.client.remove_service(found["ID"])
        for left in self.client.containers(all=True, filters={"label": "com.docker.swarm.service.id"}):
            with suppress(docker.errors.APIError):
                self.client.remove_container(left["Id"], force=True, v=True)
        for volume in self.client.volumes()["Volumes"] or []:
            with suppress(docker.errors.APIError):
                self.client.remove_volume(volume["Name"], force=True)
        for found in self.client.secrets():
            with suppress(docker.errors.APIError):
                self.client.remove_secret(found["ID"])
        for found in self.client.configs():
            with suppress(docker.errors.APIError):
                self.client.remove_config(found["ID"])
