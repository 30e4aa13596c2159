"""Refused packets, and limits on the others, with real packets through a router that has the rules.

Every special-purpose block of IANA's registries is tried; nothing here leaves the three namespaces.
"""

import re
import shutil
from collections.abc import Iterator
from ipaddress import ip_address, ip_network

import pytest

from containers.firewall.connection_limits import CONNECTIONS, CONNECTIONS_BURST, QUERIES_BURST
from containers.firewall.rules import make_rules
from containers.programs import is_root
from tests.containers.firewall.inside_router import NAME_SERVERS
from tests.containers.firewall.router import AGENT, NEIGHBOUR, PORT, Router, make_router
from tests.containers.firewall.special_purpose import CLOUDS, FORMER, MULTICAST, ORDINARY, REGISTRY

BLOCKS = REGISTRY | MULTICAST | ORDINARY | CLOUDS | FORMER
can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)


def addresses_of(block: str) -> list[str]:
    """Returns the first and the last address of the block and one between them,
    without those of smaller blocks in it."""
    network = ip_network(block)
    smaller = [
        inner
        for inner in map(ip_network, BLOCKS)
        if inner.version == network.version and inner != network and inner.subnet_of(network)  # type: ignore[arg-type]  # of one version
    ]
    first, last = int(network.network_address), int(network.broadcast_address)
    offsets = {0, 1, (last - first) // 2, last - first - 1, last - first}
    tried = [network[offset] for offset in sorted(offsets) if 0 <= offset <= last - first]
    return [str(address) for address in tried if not any(address in inner for inner in smaller)]


EXPECTED = {address: is_global for block, is_global in BLOCKS.items() for address in addresses_of(block)}
NAT64 = {
    str(ip_address("64:ff9b::") + int(ip_address(address))): is_global
    for address, is_global in EXPECTED.items()
    if ":" not in address
}
"""The same IPv4 addresses, behind a translator. The first and the last of that block itself are among them."""

ALL = EXPECTED | NAT64


def verdict(address: str) -> str:
    """Returns what the chain's first rule for this destination says. Skips rules about anything else."""
    wanted = ip_address(address)
    for rules in make_rules(bridge="berth-0", allow=[], resolvers=[]):
        for rule in rules.chains["BERTH-0-FORWARD"]:
            found = re.fullmatch(r"-d (\S+) -j (\S+)", rule)
            if found and ip_network(found[1]).version == wanted.version and wanted in ip_network(found[1]):
                return found[2]
    return "RETURN"


@pytest.mark.parametrize("address", ALL)
def test_every_special_purpose_address_is_refused_unless_it_is_globally_reachable(address: str) -> None:
    assert verdict(address) == ("RETURN" if ALL[address] else "BERTH-0-REFUSE")


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


@pytest.mark.docker
@can_filter
def test_packets_to_special_purpose_addresses_are_refused(router: Router) -> None:
    """Without the rules nearly all of them arrive, so the rules are what stops the others."""
    router.remove_rules()
    before = router.as_agent("knock", addresses=list(ALL), port=PORT)
    # Packets that the kernel itself never sends or forwards: loopback, multicast, broadcast, link-local, this network.
    never = ("0.", "127.", "224.", "23", "255.", "::", "fe", "ff")
    assert {address for address, arrives in before.items() if not arrives and not address.startswith(never)} == set()
    router.set_rules()
    after = router.as_agent("knock", addresses=list(ALL), port=PORT)
    assert {address for address, arrives in after.items() if arrives} == {
        address for address, is_global in ALL.items() if is_global and before[address]
    }


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("address", ["11.1.2.3", "2a01:5::5"])
def test_the_connections_of_an_agent_are_limited(router: Router, address: str) -> None:
    router.set_rules()
    router.as_agent("knock", addresses=[address], port=PORT)  # until it has an answer, the kernel keeps few packets
    assert router.as_agent("hold", address=address, port=PORT, count=CONNECTIONS + 20) == CONNECTIONS


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("address", ["11.1.2.3", "2a01:5::5"])
def test_an_agent_fills_no_table_of_the_kernel(address: str) -> None:
    """The kernel remembers a packet that got no answer for 30 s, and each began a connection of its own."""
    with make_router() as router:
        router.as_agent("scatter", address=address, count=3000)
        assert router.remember() >= 3000
    with make_router() as router:
        router.set_rules()
        seconds = router.as_agent("scatter", address=address, count=3000)
        assert router.remember() <= CONNECTIONS_BURST + 10 * (seconds + 1)


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("address", ["11.1.2.3", "2a01:5::5"])
def test_a_pause_of_a_few_seconds_gives_no_second_burst(address: str) -> None:
    """The kernel would forget a count after one second without a packet. Closed connections count nowhere else."""
    with make_router() as router:
        router.set_rules()
        seconds = router.as_agent("reopen", address=address, port=PORT, rounds=3)
        assert router.remember() <= CONNECTIONS_BURST + 10 * (seconds + 1)


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("server", NAME_SERVERS.values())
def test_the_dns_queries_of_an_agent_are_limited(server: str) -> None:
    with make_router() as router:
        answers, _ = router.as_agent("ask", address=server, count=400)
        assert answers >= 300
        router.set_rules(resolvers=[server], allow=[(f"{server}/{ip_address(server).max_prefixlen}", None)])
        answers, seconds = router.as_agent("ask", address=server, count=400)
        assert QUERIES_BURST / 2 <= answers <= QUERIES_BURST + 20 * (seconds + 1)


@pytest.mark.docker
@can_filter
def test_each_agent_has_separate_limits() -> None:
    """One that has used up its own limit takes nothing from its neighbours."""
    # Another test's router has counts left, by which too few packets could pass to reach the limit of connections.
    with make_router() as router:
        router.set_rules()
        questions = {"address": "11.1.2.3", "port": PORT}
        # Until the kernel knows its neighbour, it drops packets, which then count for nothing.
        assert router.as_agent("knock_from", source=AGENT, **questions)
        router.as_agent("scatter", address="11.1.2.3", count=2000)
        assert not router.as_agent("knock_from", source=AGENT, **questions)
        assert router.as_agent("knock_from", source=NEIGHBOUR, **questions)
