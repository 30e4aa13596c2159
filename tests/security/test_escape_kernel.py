"""An agent that tries to get out through the kernel."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.agents import FIRST_USER, Agents
from tests.security.inside.kernel import ATTEMPTS, STRANGER

pytestmark = pytest.mark.docker
NOT_IN_EVERY_KERNEL = {
    "read the kernel's memory": "/proc/kcore",
    "ask for a SysRq": "/proc/sysrq-trigger",
    "open a socket to the hypervisor": "/dev/vsock",
}
SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def agent(agents: Agents) -> Iterator[Any]:
    """The findings of an agent."""
    name = agents.deploy("kernel").name
    agents.place_stranger(name, STRANGER)
    yield agents.found_by(name)
    agents.remove_all()


@pytest.fixture(scope="module")
def trusted(agents: Agents) -> Iterator[Any]:
    """The findings of the same program with everything that it asks for.

    This does not use `--trusted`, which requests capabilities that the engine itself may lack.
    """
    host = os.environ.get("DOCKER_HOST", f"unix://{SOCKET}")
    disk = next(path for path in sorted(Path("/dev").iterdir()) if path.is_block_device())
    name = agents.run_unconfined(
        "kernel",
        user="0",
        cap_add=["SYS_ADMIN", "SYS_PTRACE", "SYSLOG"],
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        binds=[f"{host.removeprefix('unix://')}:{SOCKET}", "/sys/fs/cgroup:/sys/fs/cgroup"],
        devices=[f"{device}:{device}" for device in ("/dev/kmsg", str(disk))],
        more={"MaskedPaths": [], "ReadonlyPaths": []},
    )
    agents.place_stranger(name, STRANGER)
    yield agents.found_by(name)
    agents.remove_all()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_agent_cannot_escape(agent: Any, attempt: str) -> None:
    assert agent["attempts"][attempt] != "succeeded"


def test_each_attempt_succeeds_in_a_privileged_container(trusted: Any) -> None:
    failed = {name: said for name, said in trusted["attempts"].items() if said != "succeeded"}
    unknown_here = {name for name, file in NOT_IN_EVERY_KERNEL.items() if not Path(file).exists()}
    assert failed.keys() == unknown_here, failed


def test_an_agent_has_no_capability_and_cannot_get_any(agent: Any, trusted: Any) -> None:
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(agent["facts"][kind], 16) == 0, kind
    assert agent["facts"]["NoNewPrivs"] == "1"
    assert agent["facts"]["Seccomp"] == "2"
    assert agent["facts"]["Max core file size"].split() == ["1", "1", "bytes"], "No program of the host takes dumps."
    for kind in ("Uid", "Gid"):
        [number] = set(agent["facts"][kind].split())
        assert int(number) >= FIRST_USER
    assert agent["facts"]["Groups"].split() in ([], [number])
    assert int(trusted["facts"]["CapEff"], 16) > 0
    assert (trusted["facts"]["NoNewPrivs"], trusted["facts"]["Seccomp"]) == ("0", "0")
