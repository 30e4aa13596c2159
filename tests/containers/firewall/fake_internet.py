"""A public address that containers can reach, without any packet leaving this machine."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from uuid import uuid4

_LINK = IPv4Address("11.22.0.0") + 4 * (os.getpid() % (1 << 14))
"""A /30 for this process, because a test run that was killed leaves its own behind."""
NEAR_END, FAR_END = str(_LINK + 1), str(_LINK + 2)
"""The two ends of the link: this machine, and the server on the other side."""


@contextmanager
def fake_internet() -> Iterator[str]:
    """Yields a public address on the other side of the link: a network namespace with a `listener` in it."""
    namespace = f"t{uuid4().hex[:6]}"
    for command in (
        f"ip netns add {namespace}",
        f"ip link add {namespace}a type veth peer name {namespace}b",
        f"ip link set {namespace}b netns {namespace}",
        f"ip addr add {NEAR_END}/30 dev {namespace}a",
        f"ip link set {namespace}a up",
        f"ip -n {namespace} addr add {FAR_END}/30 dev {namespace}b",
        f"ip -n {namespace} link set {namespace}b up",
        f"ip -n {namespace} route add default via {NEAR_END}",
    ):
        subprocess.run(command.split(), check=True)
    try:
        with listener("ip", "netns", "exec", namespace):
            yield FAR_END
    finally:
        subprocess.run(["ip", "netns", "del", namespace], check=True)


@contextmanager
def listener(*prefix: str) -> Iterator[None]:
    """Greets on port 8181 of every address."""
    command = [*prefix, "busybox", "nc", "-ll", "-p", "8181", "-e", "echo", "hello"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        server.terminate()
        server.wait(60)
