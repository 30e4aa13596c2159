"""Section 5 (container runtime) of the CIS Docker Benchmark 1.6, for an agent as the engine really runs it."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from containers.hardening import SECCOMP_PROFILE
from tests.security.agents import FIRST_USER, MEGABYTE, SECRETS, Agents

pytestmark = pytest.mark.docker
_ULIMITS = {"core": 1, "memlock": 65536, "msgqueue": 819200, "nofile": 4096, "sigpending": 1024}
Holds = Callable[[dict[str, Any]], bool]


def _host(inspected: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = inspected["HostConfig"]
    return config


ITEMS: list[tuple[str, str, Holds]] = [
    ("5.2", "AppArmor is on where the host has it", lambda c: "apparmor=unconfined" not in _host(c)["SecurityOpt"]),
    ("5.3", "SELinux is not turned off", lambda c: "label=disable" not in _host(c)["SecurityOpt"]),
    ("5.4", "no capability is left", lambda c: _host(c)["CapDrop"] == ["ALL"] and not _host(c)["CapAdd"]),
    ("5.5", "not privileged", lambda c: _host(c)["Privileged"] is False),
    ("5.6", "no host directory is mounted", lambda c: not _host(c)["Binds"] and _only_volumes(c)),
    ("5.7", "no sshd runs", lambda c: "ssh" not in str(c["Config"]["Cmd"]) + str(c["Config"]["Entrypoint"])),
    ("5.8", "no privileged port is mapped", lambda c: not _host(c)["PortBindings"]),
    ("5.9", "no port is published", lambda c: not any(c["NetworkSettings"]["Ports"].values())),
    ("5.10", "the host's network is not shared", lambda c: _host(c)["NetworkMode"].endswith("-agents")),
    ("5.11", "memory is limited", lambda c: _host(c)["Memory"] == _host(c)["MemorySwap"] == 256 * MEGABYTE),
    ("5.12", "processor time is limited", lambda c: _host(c)["NanoCpus"] == 250_000_000),
    ("5.13", "the root file system is read-only", lambda c: _host(c)["ReadonlyRootfs"] is True),
    ("5.14", "traffic is bound to no host interface", lambda c: not _host(c)["PortBindings"]),
    # The benchmark wants on-failure:5, so that a crash loop ends. The watcher ends ours, and the policy has to bring
    # agents back after a reboot, which on-failure does not.
    ("5.15", "a crash loop ends", lambda c: _host(c)["RestartPolicy"]["Name"] == "no"),
    ("5.16", "the host's processes are not shared", lambda c: _host(c)["PidMode"] == ""),
    ("5.17", "the host's IPC is not shared", lambda c: _host(c)["IpcMode"] == "private"),
    ("5.18", "no host device is there", lambda c: not _host(c)["Devices"] and not _host(c)["DeviceRequests"]),
    ("5.19", "ulimits are set", lambda c: {u["Name"]: u["Hard"] for u in _host(c)["Ulimits"]} == _ULIMITS),
    ("5.20", "mounts do not propagate", lambda c: not any("shared" in m["Propagation"] for m in c["Mounts"])),
    ("5.21", "the host's UTS is not shared", lambda c: _host(c)["UTSMode"] == ""),
    ("5.22", "seccomp refuses what is not listed", lambda c: f"seccomp={SECCOMP_PROFILE}" in _host(c)["SecurityOpt"]),
    ("5.23", "no exec is privileged", lambda c: not c["ExecIDs"]),
    ("5.24", "no exec is by root", lambda c: not c["ExecIDs"]),
    ("5.25", "the cgroup is the engine's own", lambda c: _host(c)["CgroupParent"] == ""),
    ("5.26", "no new privileges", lambda c: "no-new-privileges:true" in _host(c)["SecurityOpt"]),
    # 5.27 (health is checked) and 5.28 (the latest image) depend on the image.
    ("5.29", "processes are limited", lambda c: _host(c)["PidsLimit"] == 128),
    ("5.30", "not on the default bridge", lambda c: "bridge" not in c["NetworkSettings"]["Networks"]),
    ("5.31", "the host's users are not shared", lambda c: _host(c)["UsernsMode"] != "host"),
    ("5.32", "the engine's socket is not mounted", lambda c: "docker.sock" not in str(c)),
    # Not part of the benchmark, but of the same kind.
    ("B.1", "it is a user of its own", lambda c: int(c["Config"]["User"].partition(":")[0]) >= FIRST_USER),
    ("B.2", "an init reaps its children", lambda c: _host(c)["Init"] is True),
    ("B.3", "masked and read-only paths are the engine's", lambda c: bool(_host(c)["MaskedPaths"])),
    ("B.4", "nothing secret is in it", lambda c: not any(secret in str(c) for secret in SECRETS.values())),
    ("B.5", "its log is bounded", lambda c: _host(c)["LogConfig"]["Config"]["max-size"] == "10m"),
]


def _only_volumes(inspected: dict[str, Any]) -> bool:
    targets = {mount["Destination"] for mount in inspected["Mounts"]}
    return targets == {"/data", "/run/secrets"} and all(mount["Type"] == "volume" for mount in inspected["Mounts"])


@pytest.fixture(scope="module")
def inspected(agents: Agents) -> Iterator[dict[str, Any]]:
    yield agents.client.inspect_container(agents.deploy("idle").name)
    agents.remove_all()


@pytest.mark.parametrize(("number", "title", "holds"), ITEMS, ids=[f"{number} {title}" for number, title, _ in ITEMS])
def test_an_agent_passes_the_benchmark(inspected: dict[str, Any], number: str, title: str, holds: Holds) -> None:
    assert holds(inspected), f"{number} {title}"


def test_an_ordinary_container_fails_the_benchmark(agents: Agents) -> None:
    """This shows that the table can fail."""
    plain = agents.client.inspect_container(
        agents.run_unconfined("idle", privileged=False, binds=["/tmp:/host"], network_mode="bridge")
    )
    agents.remove_all()
    failed = {number for number, _, holds in ITEMS if not holds(plain | {"HostConfig": _filled(plain)})}
    assert failed >= {"5.4", "5.6", "5.11", "5.12", "5.13", "5.19", "5.26", "5.29", "5.30", "B.2", "B.5"}


def _filled(inspected: dict[str, Any]) -> dict[str, Any]:
    """Returns an empty value for the engine's null."""
    lists = ("SecurityOpt", "Ulimits", "DeviceRequests", "Devices", "Binds", "PortBindings", "CapAdd", "CapDrop")
    empty: dict[str, Any] = {name: [] for name in lists} | {"Init": False, "PidsLimit": 0}
    config = {name: value for name, value in _host(inspected).items() if value is not None}
    log = {**config["LogConfig"], "Config": {"max-size": "", **config["LogConfig"]["Config"]}}
    return {**empty, **config, "LogConfig": log}


@pytest.mark.skipif(shutil.which("docker") is None, reason="takes Docker's command line")
def test_the_command_line_shows_no_secret(agents: Agents) -> None:
    name = agents.deploy("idle").name
    shown = subprocess.run(["docker", "inspect", name], capture_output=True, check=True, text=True).stdout
    agents.remove_all()
    assert name in shown
    assert not any(secret in shown for secret in SECRETS.values())
