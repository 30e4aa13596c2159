"""No agent fills the kernel's neighbour table, which all containers and the machine itself share."""

import logging
import shutil
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path

import pytest

from containers.firewall import neighbour_table
from containers.firewall.boot import SCRIPT
from containers.firewall.neighbour_table import PLACES, make_room, room_by_script
from containers.firewall.script import as_script
from containers.identity import network_name
from containers.programs import ProgramError, is_root
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = pytest.mark.one_database
MOST, FROM = (f"/proc/sys/net/ipv4/neigh/default/gc_thresh{number}" for number in (3, 2))
SCATTER = """\
import ipaddress, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.setblocking(False)
    for address in ipaddress.ip_network(sys.argv[1]).hosts():
        try:
            sender.sendto(b"?", (str(address), 9))
        except BlockingIOError:
            sender.close()
            sender.__init__(socket.AF_INET, socket.SOCK_DGRAM)
            sender.setblocking(False)
        except OSError:
            pass
"""


def count(what: str) -> int:
    """Returns how often an entry was taken (`allocs`) or there was none (`table_fulls`), counted by each processor."""
    names, *rows = Path("/proc/net/stat/arp_cache").read_text().splitlines()
    return sum(int(row.split()[names.split().index(what)], 16) for row in rows)


@pytest.mark.docker
@pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter"))) and Path(MOST).exists()),
    reason="takes root, iptables, ip and the machine's own network",
)
def test_an_agent_that_sends_to_all_that_are_near_fills_no_table(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, mode="listening")
    assert docker_under_test.engine.ensure_firewall() is None
    assert int(Path(MOST).read_text()) >= PLACES
    subnet = docker_under_test.client.inspect_network(network_name())["IPAM"]["Config"][0]["Subnet"]
    pid = docker_under_test.client.inspect_container(docker_under_test.name)["State"]["Pid"]
    inside = ["nsenter", "--target", str(pid), "--net"]
    taken, refused = count("allocs"), count("table_fulls")
    subprocess.run([*inside, sys.executable, "-ISc", SCATTER, subnet], check=True, timeout=60)
    assert count("allocs") - taken > ip_network(subnet).num_addresses - 30
    assert count("table_fulls") == refused


class Kernel:
    """Its two limits, which may be changed by the program, by hand, or not at all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, most: str, ways: set[str]) -> None:
        self.limits, self.ways, self.called = {MOST: most, FROM: "512"}, ways, 0
        for name in ("run_program", "_read", "_write"):
            monkeypatch.setattr(neighbour_table, name, getattr(self, name))
        monkeypatch.setattr(neighbour_table._Told, "is_told", False)

    def run_program(self, *words: str, seconds: float) -> None:
        self.called += 1
        if "ip" not in self.ways:
            raise ProgramError(str(seconds))
        assert words[:5] == ("ip", "ntable", "change", "name", "arp_cache")
        self.limits = {FROM: words[words.index("thresh2") + 1], MOST: words[words.index("thresh3") + 1]}

    def _read(self, file: str) -> str:
        return self.limits[file]

    def _write(self, file: str, value: int) -> None:
        if "file" not in self.ways:
            raise PermissionError
        self.limits[file] = str(value)


@pytest.mark.parametrize("ways", [{"ip"}, {"file"}, {"ip", "file"}])
@pytest.mark.parametrize("most", ["1024", "8192", str(PLACES - 1)])
def test_too_few_places_become_enough(monkeypatch: pytest.MonkeyPatch, most: str, ways: set[str]) -> None:
    kernel = Kernel(monkeypatch, most=most, ways=ways)
    make_room()
    assert kernel.limits == {MOST: str(PLACES), FROM: str(PLACES // 2)}


@pytest.mark.parametrize("most", [str(PLACES), "1000000", "", "?"])
def test_a_larger_table_is_kept_and_an_unreadable_setting_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    kernel = Kernel(monkeypatch, most=most, ways={"ip", "file"})
    make_room()
    assert kernel.limits == {MOST: most, FROM: "512"}
    assert kernel.called == 0


def test_without_the_right_a_message_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Kernel(monkeypatch, most="1024", ways=set())
    with caplog.at_level(logging.WARNING):
        make_room()
        make_room()
    assert [record.message for record in caplog.records if "gc_thresh3" in record.message] == [neighbour_table._TOO_FEW]


@pytest.mark.parametrize(
    ("most", "after"), [("1024", (PLACES, PLACES // 2)), ("1000000", (1_000_000, 512)), (None, None)]
)
def test_the_scripts_do_the_same(tmp_path: Path, most: str | None, after: tuple[int, int] | None) -> None:
    lines = "\n".join(room_by_script())
    assert lines in as_script([])
    assert lines in SCRIPT
    files = {name: tmp_path / str(number) for number, name in enumerate((MOST, FROM))}
    if most:
        files[MOST].write_text(most)
        files[FROM].write_text("512")
    for name, file in files.items():
        lines = lines.replace(name, str(file))
    done = subprocess.run(["sh", "-euc", f"ip() {{ false; }}\n{lines}"], capture_output=True, check=True)
    assert done.stderr == b""
    assert (tuple(int(file.read_text()) for file in files.values()) if most else None) == after
