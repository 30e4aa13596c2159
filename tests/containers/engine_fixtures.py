"""What the contract tests need from an engine."""

from collections.abc import Iterator
from typing import Any, Protocol

from containers.engine import Engine
from containers.identity import container_name, own_labels
from containers.vocabulary import PROJECT_LABEL, ContainerSpec, Observation

OWNER = "alice"

CHANGES = ("off its network", "on another network too", "on another network only", "restart policy", "limits")
"""Changes that someone may make to a container (`EngineUnderTest.change`)."""


def yes() -> bool:
    return True


class EngineUnderTest(Protocol):
    """An engine, and what a test does to it from outside. No other test uses `key` and the name of its container.

    `play` lets the deployed agent behave in one of the modes of `tests.containers.rootfs.SCRIPT`. `kept` is its state
    as an archive, and `forget` lets the running agent delete everything in it.
    """

    image: str
    key: str
    name: str

    @property
    def engine(self) -> Engine: ...
    def unstartable(self, spec: ContainerSpec) -> ContainerSpec: ...
    def play(self, name: str, mode: str) -> None: ...
    def foreign(self, name: str, labels: dict[str, str]) -> str: ...
    def id_of(self, name: str) -> str | None: ...
    def is_running(self, name: str) -> bool: ...
    def pause(self, name: str) -> None: ...
    def kill(self, name: str) -> None: ...
    def vanish(self, name: str) -> None: ...
    def rename(self, name: str, new: str) -> None: ...
    def change(self, name: str, what: str) -> None: ...
    def volumes(self, name: str) -> set[str]: ...
    def secrets(self, name: str) -> dict[str, str]: ...
    def kept(self) -> Iterator[bytes]: ...
    def forget(self) -> None: ...
    def set_silence(self, monkeypatch: Any) -> None: ...
    def deploy_healthy(self) -> None: ...
    def address_of(self, name: str) -> str | None: ...
    def stop_gateway(self) -> None: ...
    def gateways(self) -> list[str]: ...


def make_spec(under_test: EngineUnderTest, *, mode: str = "", generation: int = 1, **changes: Any) -> ContainerSpec:
    key = changes.pop("key", under_test.key)
    name = changes.pop("name", container_name(key))
    labels = {**own_labels(), PROJECT_LABEL: key, "berth.owner": OWNER}
    values: dict[str, Any] = {
        "name": name,
        "image": under_test.image,
        "labels": labels,
        "generation": generation,
        "environment": {"MODE": mode},
        "secrets": {"telegram_bot_token": "12:ab", "agent_api_key": "sk-1"},
        "memory": 32 << 20,
        "nano_cpus": 500_000_000,
        "pids": 32,
        "stop_timeout": 2,
    }
    return ContainerSpec(**values | changes)


def deploy(under_test: EngineUnderTest, *, mode: str = "", **changes: Any) -> Observation:
    spec = make_spec(under_test, mode=mode, **changes)
    observation = under_test.engine.deploy(spec, confirm=yes)
    under_test.play(spec.name, mode)
    return observation
