"""What one BERTH_INSTANCE has on the Docker engine, according to the engine itself and not the service.

Each test module has an instance of its own, so tests never meet each other's containers.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import docker

from containers.agent_contract import SECRETS_PATH, SecretFile
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from tests.chaos.stub import make_image
from tests.containers.inside import run_inside
from tests.engines import connect, remove_networks
from tests.instances import note_instance
from tests.waiting import wait_until

REMOVAL_LIMIT = 60.0


class DockerInstance:
    def __init__(self, engine: str | None = None) -> None:
        """`engine` is the address of the Docker engine; None means that of `DOCKER_HOST`."""
        self.name = f"chaos-{secrets.token_hex(4)}"
        if engine is None:
            note_instance(self.name)
        self.client: Any = connect(engine)
        self.image = make_image(self.client, self.name)

    @property
    def _ours(self) -> dict[str, list[str]]:
        return {"label": [f"{INSTANCE_LABEL}={self.name}"]}

    def containers(self) -> dict[str, str]:
        """Returns the state of each container by its name."""
        found = self.client.containers(all=True, filters=self._ours)
        return {each["Names"][0].removeprefix("/"): str(each["State"]) for each in found}

    def states(self) -> dict[str, str]:
        """Returns the state of the container of each project.

        It does not use a list: an engine whose disk is full lists the states that it last saved.
        """
        found = self.client.containers(all=True, filters=self._ours)
        told = {each["Labels"][PROJECT_LABEL]: self.state_and_restarts(each["Id"])[0] for each in found}
        return {project: state for project, state in told.items() if state}

    def detached(self) -> list[str]:
        """Returns the names of the running containers that are on no existing network."""
        there = {each["Id"] for each in self.client.networks()}
        found = []
        for name, state in self.containers().items():
            with suppress(docker.errors.NotFound):  # it is gone by now
                networks = self.client.inspect_container(name)["NetworkSettings"]["Networks"]
                if state == "running" and not there & {each["NetworkID"] for each in networks.values()}:
                    found.append(name)
        return found

    def name_of(self, project: str) -> str:
        """Returns the name of the project's container."""
        chosen = {"label": [*self._ours["label"], f"{PROJECT_LABEL}={project}"]}
        [found] = self.client.containers(all=True, filters=chosen)
        return str(found["Names"][0].removeprefix("/"))

    def state_and_restarts(self, name: str) -> tuple[str, int]:
        """Returns the container's state and number of restarts.
        If two answers are equal, the same run is still going."""
        try:
            found = self.client.inspect_container(name)
        except docker.errors.NotFound:
            return "", 0
        return found["State"]["Status"], found["RestartCount"]

    def projects(self) -> list[str]:
        """Returns the project of each container. A project that appears twice has two containers."""
        return [each["Labels"][PROJECT_LABEL] for each in self.client.containers(all=True, filters=self._ours)]

    def api_keys(self) -> dict[str, str]:
        """Returns the provider's key in the container of each project whose agent runs."""
        running = [each for each in self.client.containers(filters=self._ours) if each["State"] == "running"]
        read = "cat", f"{SECRETS_PATH}/{SecretFile.AGENT_API_KEY}"
        return {each["Labels"][PROJECT_LABEL]: run_inside(self.client, each["Id"], *read)[1] for each in running}

    def ends(self) -> Iterator[str]:
        """Yields the project of each container that ends from now on."""
        chosen = self._ours | {"event": ["die"]}
        for event in self.client.events(decode=True, filters=chosen):
            yield str(event["Actor"]["Attributes"][PROJECT_LABEL])

    def volumes(self) -> set[str]:
        return {each["Name"] for each in self.client.volumes(filters=self._ours)["Volumes"] or []}

    def volume_projects(self) -> set[str]:
        """Returns the project of each volume."""
        return {each["Labels"][PROJECT_LABEL] for each in self.client.volumes(filters=self._ours)["Volumes"] or []}

    def tell_stub(self, name: str, what: str, *, for_ever: bool = False) -> None:
        """Tells the stub how to end, once or after every start; its script has the words."""
        path = "/data/do" if for_ever else "/tmp/do"
        run_inside(self.client, name, "sh", "-c", f"echo {what} > {path}")

    def remove_all(self) -> None:
        """Removes all containers and volumes. Tries again while a killed server's requests are still running."""
        wait_until(self._is_empty, within=REMOVAL_LIMIT, what=lambda: f"{self.containers()} {self.volumes()}")

    def _is_empty(self) -> bool:
        for name in self.containers():
            with suppress(docker.errors.APIError):
                self.client.remove_container(name, force=True, v=True)
        for name in self.volumes():
            # A deploy that was undone may have left the container of a handover, which a later one would use.
            for found in self.client.containers(all=True, filters={"volume": name}):
                with suppress(docker.errors.APIError):
                    self.client.remove_container(found["Id"], force=True, v=True)
            with suppress(docker.errors.APIError):
                self.client.remove_volume(name, force=True)
        return not (self.containers() or self.volumes())

    def close(self) -> None:
        # A killed server cannot say what it has told the engine to do, and the engine does not say either.
        time.sleep(1)
        self.remove_all()
        remove_networks(self.client, self.name)
        self.client.remove_image(self.image, force=True)
        self.client.close()
