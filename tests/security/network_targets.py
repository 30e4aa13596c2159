"""Addresses that an agent must not reach: this machine under all of its addresses, and networks behind it.

Each has a door, a small server that greets every caller. All of them are on this machine: addresses that belong to
others elsewhere (cloud metadata, private networks) are given to an interface made for the test, or to a network
namespace at the end of a virtual cable.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.child_servers import child_server
from tests.paths import ROOT
from tests.security.inside import doors
from tests.security.inside.doors import GREETING, PORT

METADATA, METADATA_6 = "169.254.169.254", "fd00:ec2::254"
PRIVATE = "10.213.90.1"
ROUTED = {"private": "10.213.91.2", "carrier": "100.64.91.2", "benchmark": "198.18.91.2", "public": "11.22.44.2"}
"""Addresses behind this machine, which forwards to them. The last one represents the internet."""


@dataclass(frozen=True)
class Namespace:
    """A network namespace in which commands can run. Without a name, it is that of this machine."""

    namespace: str = ""

    def command(self, *words: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.namespace}", *words] if self.namespace else list(words)

    def knock(self, address: str, port: int = PORT, kind: str = "tcp") -> str:
        """Returns what a caller from this namespace gets.
        Another process makes the call, because tests stay in their namespace."""
        script = f"from tests.security.inside.doors import knock; print(knock({address!r}, {port}, {kind!r}))"
        done = subprocess.run(
            self.command(sys.executable, "-c", script), cwd=ROOT, capture_output=True, check=True, text=True
        )
        return done.stdout.strip()

    def reaches(self, address: str, port: int = PORT, kind: str = "tcp") -> bool:
        return self.knock(address, port, kind) == GREETING.decode()

    def open_door(self, port: int = PORT) -> AbstractContextManager[None]:
        """Greets every caller of this port, at any address of the namespace."""
        return child_server(self.command(sys.executable, "-m", doors.__name__, str(port)))


THIS_MACHINE = Namespace()


@contextmanager
def extra_addresses() -> Iterator[None]:
    """Gives this machine the addresses of the metadata service, and a private one."""
    name = f"sec{uuid4().hex[:8]}"
    ip(f"link add {name} type veth peer name {name}z")  # not every kernel has dummy interfaces
    try:
        for address in (f"{METADATA}/32", f"{PRIVATE}/32", f"{METADATA_6}/128 nodad"):
            ip(f"addr add {address} dev {name}")
        for end in (name, f"{name}z"):
            ip(f"link set {end} up")
        yield
    finally:
        ip(f"link del {name}")


@contextmanager
def routed_namespace() -> Iterator[Namespace]:
    """A namespace behind this machine, with the `ROUTED` addresses."""
    name = f"sec{uuid4().hex[:8]}"
    ip(f"netns add {name}")
    try:
        ip(f"link add {name}a type veth peer name {name}b")
        ip(f"link set {name}b netns {name}")
        ip(f"link set {name}a up")
        ip(f"-n {name} link set {name}b up")
        ip(f"-n {name} link set lo up")
        for address in ROUTED.values():
            ip(f"addr add {address.removesuffix('2')}1/30 dev {name}a")
            ip(f"-n {name} addr add {address}/30 dev {name}b")
        ip(f"-n {name} route add default via {ROUTED['public'].removesuffix('2')}1")
        yield Namespace(name)
    finally:
        ip(f"netns del {name}")


@contextmanager
def namespace_on_bridge(bridge: str, address: str, gateway: str) -> Iterator[Namespace]:
    """A namespace on the bridge, like the container of an agent, but with the IPv6 that agents do not get."""
    name = f"sec{uuid4().hex[:8]}"
    ip(f"netns add {name}")
    try:
        ip(f"link add {name}a type veth peer name {name}b")
        ip(f"link set {name}b netns {name}")
        ip(f"link set {name}a master {bridge} up")
        ip(f"-n {name} link set {name}b up")
        Path(f"/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6").write_text("0")
        ip(f"-6 addr add {gateway}/64 dev {bridge} nodad")
        ip(f"-n {name} -6 addr add {address}/64 dev {name}b nodad")
        ip(f"-n {name} -6 route add default via {gateway}")
        yield Namespace(name)
    finally:
        ip(f"netns del {name}")
        ip(f"-6 addr del {gateway}/64 dev {bridge}")
        Path(f"/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6").write_text("1")


@contextmanager
def all_targets() -> Iterator[Namespace]:
    """All of these addresses, with open doors. Yields the namespace behind this machine."""
    with ExitStack() as stack:
        stack.enter_context(extra_addresses())
        behind = stack.enter_context(routed_namespace())
        stack.enter_context(THIS_MACHINE.open_door())
        stack.enter_context(behind.open_door())
        yield behind


def ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)
