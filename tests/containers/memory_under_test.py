"""The engine in memory under the contract tests: it is told to do what Docker does by itself."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from containers.identity import container_name
from containers.vocabulary import ContainerSpec, Health
from tests.containers.engine_fixtures import deploy
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state


class MemoryUnderTest:
    image = "berth/assistant:latest"

    def __init__(self) -> None:
        self.engine: MemoryEngine = MemoryEngine()
        self.key = str(uuid4())
        self.name = container_name(self.key)

    def unstartable(self, spec: ContainerSpec) -> ContainerSpec:
        self.engine.fail_start_after_create()
        return spec

    def play(self, name: str, mode: str) -> None:
        if mode == "deaf":
            self.engine.ignores_sigterm.add(name)
        elif mode == "crash":
            self.engine.report(name, "failed", "crash")
            self.engine.crash(name, exit_code=3, restarting=True)
        elif mode == "oom":
            self.engine.crash(name, exit_code=137, oom=True, restarting=True)
        elif mode == "unchecked":
            self.engine.containers[name].health = Health.NONE
        elif mode == "chatty":
            for number in range(1, 101):
                self.engine.log(name, f"line {number}")

    def foreign(self, name: str, labels: dict[str, str]) -> str:
        return self.engine.foreign(name, labels=labels).container_id

    def id_of(self, name: str) -> str | None:
        found = self.engine.containers.get(name)
        return found.container_id if found else None

    def is_running(self, name: str) -> bool:
        return self.engine.containers[name].is_up

    def pause(self, name: str) -> None:
        self.engine.pause(name)

    def kill(self, name: str) -> None:
        self.engine.exit(name, exit_code=137)

    def vanish(self, name: str) -> None:
        self.engine.vanish(name)

    def rename(self, name: str, new: str) -> None:
        container = self.engine.containers[new] = self.engine.containers.pop(name)
        container.name = new

    def change(self, name: str, _what: str) -> None:
        self.engine.drift(name)

    def volumes(self, name: str) -> set[str]:
        return {volume for volume in self.engine.volumes if volume.startswith(name)}

    def secrets(self, name: str) -> dict[str, str]:
        return self.engine.secrets_of(name)

    def kept(self) -> Iterator[bytes]:
        return self.engine.read_state(self.key, image=self.image)

    def forget(self) -> None:
        self.engine.states[f"{self.name}-data"] = pack_state({})

    def set_silence(self, monkeypatch: Any) -> None:
        self.engine.silence = 0.2

    def address_of(self, name: str) -> str | None:
        spec = self.engine.containers[name].spec
        return spec.address if spec else None

    def gateways(self) -> list[str]:
        found = self.engine.gateway_container
        return [found.container_id] if found else []

    def stop_gateway(self) -> None:
        self.engine.stop_gateway()

    def deploy_healthy(self) -> None:
        deploy(self)
        self.engine.set_health(self.name, Health.HEALTHY)
