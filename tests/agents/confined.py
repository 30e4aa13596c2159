"""Agents of any type in real containers, confined as Berth confines them, between the fakes.

They run on the engine's bridge, where they reach the fakes on the host. The agents' network, with its rules and its
gateway, has its own tests.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from containers.agent_contract import STATUS_MARK
from containers.docker.secrets import pack_secrets
from containers.hardening import NEVER_BY_ENGINE, container_payload, data_volume, secrets_volume
from containers.vocabulary import INSTANCE_LABEL, ContainerSpec
from tests.waiting import wait_until

USER = 1_879_048_222
"""A user id that no image knows, as in each project."""

YOU = 1001
"""The Telegram user whom the agent answers."""

PATIENCE = 200.0
TYPES = ("assistant", "hermes", "nanobot")
MEBIBYTE = 1024 * 1024


@dataclass
class Confined:
    """`client` is docker-py's; `kind` is the agent type."""

    client: Any = field(repr=False)
    instance: str
    kind: str
    environment: dict[str, str]
    secrets: dict[str, str] = field(repr=False)
    cpus: float = 1.0
    memory: int = 512 * MEBIBYTE

    def __post_init__(self) -> None:
        self.name = f"{self.instance}-agent-{uuid4().hex[:8]}"

    def make(self) -> None:
        self._give_its_volume()
        payload = container_payload(self._spec(), network="bridge", restart_policy=NEVER_BY_ENGINE)
        self.client.create_container_from_config(payload, self.name)
        self.client.put_archive(self.name, "/run/secrets", pack_secrets(self.secrets, group=USER))

    def start(self) -> "Confined":
        self.make()
        self.client.start(self.name)
        return self

    def _spec(self) -> ContainerSpec:
        return ContainerSpec(
            name=self.name,
            image=f"berth/{self.kind}:latest",
            labels={INSTANCE_LABEL: self.instance},
            generation=1,
            environment=self.environment,
            secrets=self.secrets,
            memory=self.memory,
            nano_cpus=int(self.cpus * 1e9),
            pids=128,
            stop_timeout=15,
            user=USER,
        )

    def _give_its_volume(self) -> None:
        """Gives the files to the user that the agent runs as."""
        self.client.create_volume(data_volume(self.name), labels={INSTANCE_LABEL: self.instance})
        helper = self.client.create_container_from_config(
            {
                "Image": f"berth/{self.kind}:latest",
                "User": "0",
                "Entrypoint": ["chown", f"{USER}:{USER}", "/data"],
                "Labels": {INSTANCE_LABEL: self.instance},
                "HostConfig": {"Mounts": [{"Type": "volume", "Source": data_volume(self.name), "Target": "/data"}]},
            },
            f"{self.name}-owner",
        )["Id"]
        self.client.start(helper)
        assert self.client.wait(helper)["StatusCode"] == 0
        self.client.remove_container(helper)

    @property
    def output(self) -> str:
        return str(self.client.logs(self.name).decode("utf-8", "replace"))

    @property
    def reports(self) -> list[dict[str, Any]]:
        lines = self.client.logs(self.name, stderr=False).decode().splitlines()
        return [json.loads(line.removeprefix(STATUS_MARK)) for line in lines if line.startswith(STATUS_MARK)]

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.inspect_container(self.name)
        return found

    def wait_for(self, state: str, code: str | None = None, *, after: int = 0) -> None:
        wait_until(
            lambda: any((r["state"], r["code"]) == (state, code) for r in self.reports[after:]),
            within=PATIENCE,
            what=lambda: f"never {state} {code}:\n{self.output}",
            every=0.2,
        )

    def wait_for_exit(self) -> int:
        return int(self.client.wait(self.name, timeout=PATIENCE)["StatusCode"])

    def remove(self) -> None:
        self.client.remove_container(self.name, force=True, v=True)
        for volume in (data_volume(self.name), secrets_volume(self.name)):
            self.client.remove_volume(volume)
