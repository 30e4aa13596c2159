"""What an agent uses, as measured by the gateway of its node: control groups of both versions, and network counters."""

import struct
from pathlib import Path

import pytest
from gateway.node.cgroups import read_counters
from gateway.node.network_counters import read_network_counters

from containers.docker_api.stats import Meter
from containers.errors import EngineRefusedError
from containers.gateway.protocol import GatewayClient
from containers.vocabulary import Usage
from tests.gateway.process import Gateway
from tests.gateway.secured import listen_secured, secured

pytestmark = pytest.mark.one_database
CONTAINER = "a1" * 32

TREES = {
    "version 1, cgroupfs": {
        f"memory/docker/{CONTAINER}/memory.usage_in_bytes": "5000000\n",
        f"memory/docker/{CONTAINER}/memory.limit_in_bytes": "8000000\n",
        f"memory/docker/{CONTAINER}/memory.stat": "cache 9\ninactive_file 7\ntotal_inactive_file 1000000\n",
        f"cpuacct/docker/{CONTAINER}/cpuacct.usage": "3000000000\n",
        f"pids/docker/{CONTAINER}/pids.current": "4\n",
    },
    "version 2, systemd": {
        "cgroup.controllers": "cpu memory pids\n",
        f"system.slice/docker-{CONTAINER}.scope/memory.current": "5000000\n",
        f"system.slice/docker-{CONTAINER}.scope/memory.max": "8000000\n",
        f"system.slice/docker-{CONTAINER}.scope/memory.stat": "anon 9\ninactive_file 1000000\n",
        f"system.slice/docker-{CONTAINER}.scope/cpu.stat": "usage_usec 3000000\nuser_usec 1\n",
        f"system.slice/docker-{CONTAINER}.scope/pids.current": "4\n",
    },
}


def write(root: Path, tree: dict[str, str]) -> Path:
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_counters_of_a_container_are_read_as_those_of_an_engine_are(tree: dict[str, str], tmp_path: Path) -> None:
    counters = read_counters(write(tmp_path, tree), CONTAINER)
    assert counters
    assert counters["cpu_stats"]["cpu_usage"]["total_usage"] == 3_000_000_000
    usage = Meter().read(CONTAINER, counters, started_at=None)
    assert usage == Usage(
        cpu_percent=0.0, memory=4_000_000, memory_limit=8_000_000, network_received=None, network_sent=None, pids=4
    )


PARENTS = {
    "version 1, cgroupfs": ("docker/", "berth/agents/"),
    "version 2, systemd": ("system.slice/", "berth.slice/berth-agents.slice/"),
}


@pytest.mark.parametrize("tree", TREES)
def test_the_group_of_a_container_is_found_below_another_cgroup_parent(tree: str, tmp_path: Path) -> None:
    usual, other = PARENTS[tree]
    moved = {name.replace(usual, other): text for name, text in TREES[tree].items()}
    write(tmp_path, moved)
    (tmp_path / "memory/docker" / ("d4" * 32)).mkdir(parents=True)
    counters = read_counters(tmp_path, CONTAINER)
    assert counters
    assert counters["pids_stats"] == {"current": 4}
    assert read_counters(tmp_path, "d4" * 32) is None


@pytest.mark.parametrize("container", ["b2" * 32, "../../etc", "", CONTAINER[:12]])
def test_there_are_none_of_a_container_that_is_not_there(container: str, tmp_path: Path) -> None:
    assert read_counters(write(tmp_path, TREES["version 1, cgroupfs"]), container) is None


def _write_network(root: Path) -> tuple[Path, Path]:
    """A bridge with two ports; 10.231.0.7 is the agent at the second one, whose number takes two bytes."""
    row = struct.Struct("=6sBBIBBH")
    mine, other, own = (bytes.fromhex(f"0242ac0000{number}") for number in ("07", "08", "01"))
    table = row.pack(own, 1, 1, 0, 0, 0, 0) + row.pack(other, 1, 0, 5, 0, 0, 0) + row.pack(mine, 2, 0, 5, 1, 0, 0)
    write(
        root,
        {
            "arp": "IP address HW type Flags HW address Mask Device\n"
            "10.231.0.8 0x1 0x2 02:42:ac:00:00:08 * br0\n"
            "10.231.0.7 0x1 0x2 02:42:ac:00:00:07 * br0\n",
            "net/br0/brif/veth1/port_no": "0x1\n",
            "net/br0/brif/veth2/port_no": "0x102\n",
            "net/veth2/statistics/rx_bytes": "111\n",
            "net/veth2/statistics/tx_bytes": "222\n",
        },
    )
    (root / "net/br0/brforward").write_bytes(table)
    return root / "arp", root / "net"


def test_the_bytes_of_an_agent_are_those_of_its_own_wire_in_its_own_view(tmp_path: Path) -> None:
    neighbours, interfaces = _write_network(tmp_path)
    found = read_network_counters("10.231.0.7", neighbours=neighbours, interfaces=interfaces)
    assert found == {"eth0": {"rx_bytes": 222, "tx_bytes": 111}}


@pytest.mark.parametrize("address", ["10.231.0.9", "10.231.0.8"], ids=["no neighbour", "a wire that is gone"])
def test_of_an_agent_whose_wire_is_not_known_no_bytes_are_said(address: str, tmp_path: Path) -> None:
    neighbours, interfaces = _write_network(tmp_path)
    assert read_network_counters(address, neighbours=neighbours, interfaces=interfaces) is None


def test_the_service_is_told_over_tls_and_by_no_gateway_that_does_not_measure(
    gateway_image: Path, tmp_path: Path
) -> None:
    gateway = Gateway(gateway_image, tmp_path)
    listen_secured(gateway)
    write(tmp_path / "groups", TREES["version 2, systemd"])
    for groups in ("", str(tmp_path / "groups")):
        gateway.env["GATEWAY_CGROUPS"] = groups
        gateway.start()
        client = GatewayClient(secured(gateway))
        if groups:
            counters = client.counters(project="p", container=CONTAINER)
            assert counters
            assert counters["pids_stats"] == {"current": 4}
            assert "networks" not in counters
            assert client.counters(project="p", container="c3" * 32) is None
        else:
            with pytest.raises(EngineRefusedError, match="does not measure"):
                client.counters(project="p", container=CONTAINER)
        assert gateway.stop() == 0
