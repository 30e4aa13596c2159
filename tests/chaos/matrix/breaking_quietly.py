"""Faults that break nothing at once: agents that do not move, packets that get lost, wrong keys on the disk."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import docker
from cryptography.fernet import Fernet

from tests.chaos.matrix.installation import Installation
from tests.chaos.own_network import is_in_own_network

LOST = "0.2"
"""Of the packets between the service and its database."""


@contextmanager
def agents_frozen(installation: Installation) -> Iterator[None]:
    """As by a debugger, or a disk that does not answer. The engine calls them running, and they hear no SIGTERM."""
    frozen = []
    for name, state in installation.instance.containers().items():
        with suppress(docker.errors.APIError, ProcessLookupError):
            if state == "running":
                pid = installation.instance.client.inspect_container(name)["State"]["Pid"]
                os.kill(pid, signal.SIGSTOP)
                frozen.append(pid)
    try:
        yield
    finally:
        for pid in frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def packets_lost(installation: Installation) -> Iterator[None]:
    """A bad cable between the service and the database's machine."""
    assert is_in_own_network()
    port = str(installation.postgres.port)
    chance = ["-m", "statistic", "--mode", "random", "--probability", LOST]
    rule = ["INPUT", "-p", "tcp", "--dport", port, *chance, "-j", "DROP"]
    subprocess.run(["iptables", "-w", "-I", *rule], check=True)
    try:
        yield
    finally:
        subprocess.run(["iptables", "-w", "-D", *rule], check=True)


@contextmanager
def keys_replaced(installation: Installation) -> Iterator[None]:
    """A restore of another machine's files, which is taken back. Meanwhile the watcher starts again, and reads them."""
    files = {path: path.read_bytes() for path in installation.service_disk.path.rglob("*.key")}
    assert files
    for path in files:
        path.write_bytes(Fernet.generate_key())
    try:
        for pid in installation.service.pids("watcher"):
            os.kill(pid, signal.SIGKILL)
        yield
    finally:
        for path, content in files.items():
            path.write_bytes(content)
