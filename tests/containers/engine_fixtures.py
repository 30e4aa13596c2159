"""What the contract tests need of an engine: the one in memory is told to do it, on Docker real programs do it."""

import io
import tarfile
from contextlib import suppress
from typing import Any, Protocol
from uuid import uuid4

import docker
from django.conf import settings

from containers.docker.engine import DockerEngine
from containers.engine import Engine
from containers.identity import container_name, network_name, own_labels
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec, Health, Observation
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

OWNER = "alice"

CHANGES = ("off its network", "on another network too", "on another network only", "restart policy")
"""What somebody may change of a container (`EngineUnderTest.change`)."""


def yes() -> bool:
    return True


class EngineUnderTest(Protocol):
    """An engine, and what a test does to it from outside. No other test uses `key` and the name of its container.

    `play` lets the deployed agent behave in one of the modes of `tests.containers.rootfs.SCRIPT`.
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
    def vanish(self, name: str) -> None: ...
    def rename(self, name: str, new: str) -> None: ...
    def change(self, name: str, what: str) -> None: ...
    def volumes(self, name: str) -> set[str]: ...
    def secrets(self, name: str) -> dict[str, str]: ...
    def shorten_silence(self, monkeypatch: Any) -> None: ...
    def deploy_healthy(self) -> None: ...


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

    def shorten_silence(self, monkeypatch: Any) -> None:
        self.engine.silence = 0.2

    def deploy_healthy(self) -> None:
        deploy(self)
        self.engine.set_health(self.name, Health.HEALTHY)


class DockerUnderTest:
    def __init__(self, engine: DockerEngine, client: docker.APIClient, images: tuple[str, str]) -> None:
        self.engine = engine
        self.client: Any = client
        self.image, self.probed_image = images
        self.key = str(uuid4())
        self.name = container_name(self.key)

    def unstartable(self, spec: ContainerSpec) -> ContainerSpec:
        """Docker takes a NUL in the environment when it makes a container, and fails when it starts it."""
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

    def vanish(self, name: str) -> None:
        self.client.remove_container(name, force=True)

    def rename(self, name: str, new: str) -> None:
        self.client.rename(name, new)

    def change(self, name: str, what: str) -> None:
        if what == "restart policy":
            self.client.update_container(name, restart_policy={"Name": "on-failure"})
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

    def shorten_silence(self, monkeypatch: Any) -> None:
        monkeypatch.setattr("containers.docker.logs.SILENCE", 0.5)

    def deploy_healthy(self) -> None:
        deploy(self, image=self.probed_image)
        self.run("touch", "/tmp/well")
        wait_until(lambda: self.client.inspect_container(self.name)["State"]["Health"]["Status"] == "healthy")

    def run(self, *command: str, name: str = "") -> tuple[int, str]:
        """Exit code and output of a command inside the container."""
        made = self.client.exec_create(name or self.name, list(command))
        output = self.client.exec_start(made).decode(errors="replace")
        return int(self.client.exec_inspect(made)["ExitCode"]), output

    def clean_up(self) -> None:
        for label in (f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", "berth-test=foreign"):
            for found in self.client.containers(all=True, filters={"label": label}):
                if found["Names"][0].startswith(f"/{settings.BERTH_INSTANCE}-"):
                    self.client.remove_container(found["Id"], force=True, v=True)
        for volume in self.volumes(settings.BERTH_INSTANCE + "-"):
            with suppress(docker.errors.NotFound):
                self.client.remove_volume(volume)
