"""The whole machine: it stands still, loses power, or is rebooted."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.matrix.breaking_engine_parts import containerd_of, shims_of
from tests.chaos.matrix.breaking_people import processes
from tests.chaos.matrix.installation import Installation
from tests.waiting import wait_until


@contextmanager
def machine_paused(installation: Installation) -> Iterator[None]:
    """Like a virtual machine that is moved or copied:
    everything continues where it was, and the monotonic clock has advanced."""
    pids = [*processes(installation), installation.engine.pid, containerd_of(installation)]
    _send(pids, signal.SIGSTOP)
    installation.postgres.freeze()
    try:
        yield
    finally:
        installation.postgres.thaw()
        _send(pids, signal.SIGCONT)


@contextmanager
def power_cut(installation: Installation) -> Iterator[None]:
    """Everything ends at once, and what the kernel kept in memory is lost."""
    containers = _find_containers(installation)
    shims = list(shims_of(installation))
    _send([installation.engine.pid, containerd_of(installation), *shims, *containers], signal.SIGKILL)
    installation.service.kill()
    installation.postgres.end(signal.SIGKILL)
    installation.engine.end(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in containers), what="Agents live on")
    try:
        yield
    finally:
        _boot(installation)


@contextmanager
def machine_restarted(installation: Installation) -> Iterator[None]:
    """Everything is asked to end, and does so in order."""
    installation.service.stop()
    installation.engine.end(signal.SIGTERM)
    installation.postgres.end(signal.SIGINT)
    try:
        yield
    finally:
        _boot(installation)


@contextmanager
def service_restarted(installation: Installation) -> Iterator[None]:
    installation.service.stop()
    try:
        yield
    finally:
        installation.service.start()


def _boot(installation: Installation) -> None:
    shutil.rmtree(installation.engine.home / "exec", ignore_errors=True)
    _forget_network()
    installation.postgres.start()
    installation.engine.start()
    installation.service.start()


def _forget_network() -> None:
    """Removes the bridges and the rules, which a kernel that has just booted does not know."""
    listed = subprocess.run(["ip", "-o", "link", "show", "type", "bridge"], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        subprocess.run(["ip", "link", "delete", line.split()[1].rstrip(":")], check=True)
    for table in ("filter", "nat"):
        for forget in ("-F", "-X"):
            subprocess.run(["iptables", "-w", "-t", table, forget], check=True)


def _find_containers(installation: Installation) -> list[int]:
    client = installation.instance.client
    return [client.inspect_container(each["Id"])["State"]["Pid"] for each in client.containers()]


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in filter(None, pids):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
