"""`BERTH_CONTAINER_RUNTIME=runsc`: gVisor, and not this machine's kernel, answers an agent's system calls.

It uses an engine of its own with the runtime in its configuration, in a separate network namespace, where its rules and
bridges disturb nothing.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import docker
import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.errors import EngineRefusedError
from containers.programs import is_root
from containers.vocabulary import ContainerState
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec, yes
from tests.containers.rootfs import make_images
from tests.engines import connect
from tests.waiting import wait_until

RUNSC = shutil.which("runsc")
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not (RUNSC and is_root() and shutil.which("dockerd") and shutil.which("nsenter")),
        reason="takes gVisor (on Debian: apt install runsc), root and dockerd",
    ),
]
# `ptrace` needs neither KVM nor a new kernel. The network is that of the container's namespace, rules included: the
# packaged gVisor takes every namespace of a kernel after 6.6 or so for the host's own and refuses to copy its devices.
USER = 1_900_000_007
OPTIONS = ["--platform=ptrace", "--network=host"]


@pytest.fixture(scope="module")
def engine_with_gvisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine that has the runtime."""
    folder, namespace = tmp_path_factory.mktemp("engine"), f"gv{uuid4().hex[:8]}"
    config, socket = folder / "daemon.json", folder / "docker.sock"
    (folder / "runsc").mkdir()
    options = [*OPTIONS, f"--debug-log={folder}/runsc/%TIMESTAMP%.%COMMAND%"]
    config.write_text(json.dumps({"runtimes": {"runsc": {"path": RUNSC, "runtimeArgs": options}}}))
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    command = [
        "nsenter", f"--net=/run/netns/{namespace}", "dockerd", "--config-file", str(config),
        "--host", f"unix://{socket}", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec"),
        "--pidfile", str(folder / "pid"), "--bip", "10.213.78.1/24",
        "--containerd-namespace", namespace, "--containerd-plugins-namespace", f"{namespace}p",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        engine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for_socket(engine, socket, folder / "log")
        yield f"unix://{socket}"
    finally:
        engine.terminate()
        engine.wait(60)
        subprocess.run(["ip", "netns", "del", namespace], check=True)
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def wait_for_socket(engine: "subprocess.Popen[bytes]", socket: Path, log: Path) -> None:
    def is_open() -> bool:
        assert engine.poll() is None, log.read_text()[-2000:]
        return socket.exists() and "API listen" in log.read_text()

    wait_until(is_open, within=60, what=lambda: log.read_text()[-2000:])


def show_logs(folder: Path) -> None:
    """Prints what gVisor says of its last commands, because Docker only says that one has failed."""
    for log in sorted(folder.iterdir())[-8:]:
        sys.stdout.write(f"{log.name}:\n{log.read_text(errors='replace')[-1000:]}\n")


@pytest.fixture
def under_gvisor(engine_with_gvisor: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerUnderTest]:
    monkeypatch.setenv("DOCKER_HOST", engine_with_gvisor)
    client, instance = connect(engine_with_gvisor), f"t-{uuid4().hex[:8]}"
    names = {"BERTH_INSTANCE": instance, "BERTH_CONTAINER_NETWORK": f"{instance}-agents"}
    with override_settings(**names, BERTH_CONTAINER_RUNTIME="runsc"):
        under_gvisor = DockerUnderTest(DockerEngine(), client, make_images(client, instance))
        yield under_gvisor
        show_logs(Path(engine_with_gvisor.removeprefix("unix://")).parent / "runsc")
        under_gvisor.clean_up()
        with suppress(docker.errors.NotFound):
            client.remove_network(f"{instance}-agents")
    client.close()


def test_an_agent_lives_its_whole_life_under_gvisor(under_gvisor: DockerUnderTest) -> None:
    assert deploy(under_gvisor, memory=256 << 20, pids=128, user=USER).state is ContainerState.RUNNING
    assert under_gvisor.client.inspect_container(under_gvisor.name)["HostConfig"]["Runtime"] == "runsc"
    wait_until(
        lambda: (
            (found := under_gvisor.engine.inspect(under_gvisor.key))
            and found.report
            and found.report.state == "running"
        )
    )

    # Another kernel than this machine's, the same confinement, and the credentials are there.
    assert under_gvisor.run("cat", "/proc/version")[1].split()[2] != platform.release()
    assert "gVisor" in under_gvisor.run("dmesg")[1]
    assert under_gvisor.run("id", "-u")[1].strip() == str(USER)
    assert under_gvisor.run("touch", "/been-here")[0] != 0
    assert under_gvisor.run("cat", "/run/secrets/agent_api_key") == (0, "sk-1")
    assert under_gvisor.run("touch", "/data/state", "/tmp/x")[0] == 0

    under_gvisor.engine.stop(under_gvisor.key, timeout=10)
    stopped = under_gvisor.engine.inspect(under_gvisor.key)
    assert stopped
    assert (stopped.state, stopped.exit_code) == (ContainerState.EXITED, 0)

    # Another generation finds its state again. It is handed to another user, like the state of an agent from before
    # each had its own.
    again = make_spec(under_gvisor, generation=2, memory=256 << 20, pids=128, user=USER + 1)
    under_gvisor.engine.deploy(again, confirm=yes)
    assert under_gvisor.run("stat", "-c", "%n %u", "/data/state")[1].split() == ["/data/state", str(USER + 1)]
    under_gvisor.engine.remove(under_gvisor.key, volumes=True)
    assert (under_gvisor.engine.inspect(under_gvisor.key), under_gvisor.volumes(under_gvisor.name)) == (None, set())


def test_an_unknown_runtime_is_refused_and_leaves_nothing(under_gvisor: DockerUnderTest) -> None:
    with (
        override_settings(BERTH_CONTAINER_RUNTIME="no-such-runtime"),
        pytest.raises(EngineRefusedError, match="runtime"),
    ):
        deploy(under_gvisor)
    assert under_gvisor.id_of(under_gvisor.name) is None
    assert under_gvisor.volumes(under_gvisor.name) == set()


def test_without_the_setting_agents_use_the_host_s_kernel(under_gvisor: DockerUnderTest) -> None:
    """This shows that the difference can be seen."""
    with override_settings(BERTH_CONTAINER_RUNTIME=""):
        deploy(under_gvisor)
    assert under_gvisor.run("cat", "/proc/version")[1].split()[2] == os.uname().release
