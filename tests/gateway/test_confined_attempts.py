"""What a hostile agent that may reach only the gateway can send anywhere: judged by the packets that arrive, not by the
errors that it gets."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from containers.gateway.vocabulary import PORT
from containers.programs import is_root
from tests.containers.firewall.test_firewall import can_filter
from tests.containers.inside import run_inside
from tests.gateway.on_engine import DeployedAgent, GatewayTestbed
from tests.gateway.test_reach import DOOR, alone, free, gateway_of, near, other, public

__all__ = ["alone", "free", "other", "public"]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
    can_filter,
]

FORBIDDEN = "11.254.254.9"
"""A public address of this machine, which nothing else uses."""

PORTS = (0, 22, 53, 80, 123, 443, 2375, 5351, 5353, 8080, 8081, DOOR)
IP, OUTGOING = 0x0800, 4
"""An IPv4 packet, and one that the kernel sends (packet(7))."""

ATTEMPTS = r"""
import json, socket, struct, sys
from concurrent.futures import ThreadPoolExecutor
targets, gateway, broadcast = json.loads(sys.argv[1])
question = b"\x12\x34\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1"

def tcp(address, port, options=b""):
    with socket.socket() as sock:
        sock.settimeout(2)
        if options:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, options)
        sock.connect((address, port))

def udp(address, port, source="", family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if source:
            sock.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND: an address that is not its own
            sock.bind((source, 0))
        for _ in range(2):  # the second one fails if the first one was refused
            sock.sendto(question, (address, port))

def ping(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sock:
        sock.sendto(struct.pack(">BBHHH", 8, 0, 0xF7FE, 0, 1), (address, 0))

def create(family, kind, protocol):
    socket.socket(family, kind, protocol).close()
    print("created", family, kind, protocol)

def join(group):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4))

attempts = [(udp, "::1", 9, "", socket.AF_INET6)]
for address in targets:
    attempts += [(tcp, address, port) for port in (22, 53, 80, 443, 2375, 5351, 5353, 8080, 8181)]
    attempts += [(udp, address, port) for port in (53, 123, 5351, 5353, 8181)]
    attempts += [(udp, address, 8181, source) for source in ("127.0.0.11", gateway, targets[-1])]
    attempts += [(ping, address)]
    for kind in (131, 137):  # source routes, loose and strict, through the gateway's two networks
        route = bytes([kind, 7, 4]) + socket.inet_aton(address) + b"\0"
        attempts += [(tcp, gateway, 8080, route)]
attempts += [(udp, gateway, port) for port in (53, 5353, 8080)] + [(ping, gateway)]
attempts += [(tcp, gateway, port) for port in (22, 53, 5351, 8080, 8081)]
attempts += [(udp, each, 5353) for each in ("255.255.255.255", broadcast, "224.0.0.1", "224.0.0.251", "239.1.2.3")]
attempts += [(udp, each, 5353, "", socket.AF_INET6) for each in ("ff02::1%eth0", "ff02::fb%eth0", "fe80::1%eth0")]
attempts += [(join, each) for each in ("224.0.0.251", "239.1.2.3")]
attempts += [(create, *each) for each in ((2, 3, 1), (2, 3, 255), (17, 3, 768), (17, 2, 768), (10, 3, 58), (2, 5, 132))]

def attempt(one):
    act, *words = one
    try:
        act(*words)
    except (OSError, ValueError):
        pass

with ThreadPoolExecutor(32) as pool:
    list(pool.map(attempt, attempts))
"""


class Sniffer:
    """Notes which packets this machine's kernel passes on to these addresses, from any sender, which NAT changes."""

    def __init__(self, *addresses: str) -> None:
        self._to = {socket.inet_aton(each) for each in addresses}
        self.sent: set[tuple[str, int, int]] = set()
        """Target, protocol and port of each packet."""

    @contextmanager
    def open(self) -> Iterator[None]:
        is_over = threading.Event()
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as door:
            door.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE, for root
            thread = threading.Thread(target=self._listen, args=(door, is_over))
            thread.start()
            try:
                yield
            finally:
                is_over.set()
                thread.join()

    def _listen(self, door: socket.socket, is_over: threading.Event) -> None:
        while True:
            door.settimeout(0 if is_over.is_set() else 0.2)  # at the end it reads what has come before
            try:
                packet, (_, kind, way, *_) = door.recvfrom(2048)
            except TimeoutError:
                continue
            except BlockingIOError:
                return
            if kind == IP and way == OUTGOING and packet[16:20] in self._to:
                head = (packet[0] & 15) * 4
                port = int.from_bytes(packet[head + 2 : head + 4]) if packet[9] in {6, 17} else 0
                self.sent.add((socket.inet_ntoa(packet[16:20]), packet[9], port))


def arrived(testbed: GatewayTestbed, agent: DeployedAgent, *targets: str) -> set[tuple[str, int, int]]:
    """Returns to where packets came that the agent sent everywhere, in every way."""
    given = json.dumps([targets, testbed.address.host, str(testbed.network.subnet.broadcast_address)])
    sniffer = Sniffer(*targets, testbed.address.host)
    with ExitStack() as stack:
        subprocess.run(["ip", "addr", "add", f"{FORBIDDEN}/32", "dev", "lo"], check=True)
        stack.callback(subprocess.run, ["ip", "addr", "del", f"{FORBIDDEN}/32", "dev", "lo"], check=True)
        stack.enter_context(sniffer.open())
        done = run_inside(testbed.client, agent.name, "/opt/agent/bin/python3", "-c", ATTEMPTS, given)
    assert done == (0, ""), "It got a socket that it must not have."
    return {packet for packet in sniffer.sent if packet[2] in PORTS}


def test_no_packet_of_a_confined_agent_comes_anywhere_but_to_the_gateway(
    testbed: GatewayTestbed, alone: DeployedAgent, free: DeployedAgent, other: DeployedAgent, public: str
) -> None:
    near_by = [FORBIDDEN, *near(testbed), gateway_of(testbed)[1], "169.254.169.254", "10.99.99.99"]
    to_gateway = (testbed.address.host, 6, PORT)
    assert arrived(testbed, alone, public, *near_by, other.address) == {to_gateway}
    # The same packets of another agent reach the internet, so that they would have been seen.
    seen = arrived(testbed, free, public, *near_by, other.address)
    assert {to_gateway, (public, 6, DOOR), (public, 17, DOOR), (public, 1, 0)} <= seen
    assert {packet[0] for packet in seen} == {testbed.address.host, public}
