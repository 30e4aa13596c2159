"""A corner of the Docker engine that one test has for itself, seen past the service: the truth to compare with."""

import secrets
import time
from contextlib import suppress
from typing import Any

import docker
from django.test import override_settings

from containers.engine import INSTANCE_LABEL
from containers.firewall.iptables import remove_rules
from tests.chaos.stub import make_image
from tests.engines import connect
from tests.waiting import wait_until

PROJECT_LABEL = "berth.project"
SWEEP_LIMIT = 60.0


class Corner:
    def __init__(self, engine: str | None = None) -> None:
        """`engine` is the address of another one than the usual."""
        self.instance = f"chaos-{secrets.token_hex(4)}"
        self.network = f"{self.instance}-agents"
        self.client: Any = connect(engine)
        self.image = make_image(self.client, self.instance)

    @property
    def _ours(self) -> dict[str, list[str]]:
        return {"label": [f"{INSTANCE_LABEL}={self.instance}"]}

    def containers(self) -> dict[str, str]:
        """The state of each container by its name."""
        found = self.client.containers(all=True, filters=self._ours)
        return {each["Names"][0].removeprefix("/"): str(each["State"]) for each in found}

    def run_of(self, name: str) -> tuple[str, int]:
        """The state, and how often the engine has started it again: the same twice is the same run."""
        try:
            found = self.client.inspect_container(name)
        except docker.errors.NotFound:
            return "", 0
        return found["State"]["Status"], found["RestartCount"]

    def projects(self) -> list[str]:
        """The project that each container belongs to: one that is there twice has a duplicate."""
        return [each["Labels"][PROJECT_LABEL] for each in self.client.containers(all=True, filters=self._ours)]

    def volumes(self) -> set[str]:
        return {each["Name"] for each in self.client.volumes(filters=self._ours)["Volumes"] or []}

    def wish(self, name: str, what: str, *, for_ever: bool = False) -> None:
        """Tell the stub how to end; see its script."""
        path = "/data/do" if for_ever else "/tmp/do"
        made = self.client.exec_create(name, ["sh", "-c", f"echo {what} > {path}"])
        self.client.exec_start(made)

    def sweep(self) -> None:
        """Remove all containers and volumes; the engine may still be busy with what a killed server has asked for."""
        wait_until(self._is_swept, within=SWEEP_LIMIT, what=lambda: f"{self.containers()} {self.volumes()}")

    def _is_swept(self) -> bool:
        for name in self.containers():
            with suppress(docker.errors.APIError):
                self.client.remove_container(name, force=True, v=True)
        for name in self.volumes():
            with suppress(docker.errors.APIError):
                self.client.remove_volume(name, force=True)
        return not (self.containers() or self.volumes())

    def close(self) -> None:
        # A killed server cannot be asked what it has told the engine to do, and the engine does not say either.
        time.sleep(1)
        self.sweep()
        for network in self.client.networks(filters=self._ours):
            self.client.remove_network(network["Id"])
        with override_settings(BERTH_INSTANCE=self.instance, BERTH_CONTAINER_NETWORK=self.network):
            remove_rules()
        self.client.remove_image(self.image, force=True)
        self.client.close()
