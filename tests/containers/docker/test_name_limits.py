"""An agent's look-ups at Docker's own name server are limited in the agent's network namespace, from each start on."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from containers.firewall import query_limits
from containers.firewall.query_limits import QUESTIONS_BURST
from containers.programs import is_root, run_program
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not (is_root() and shutil.which("nsenter")), reason="takes root and nsenter"),
]

# Asks Docker's name server this many times by UDP, or 100 times on each of this many connections, as fast as it
# answers. Prints the number of answers, and the seconds.
ASK = r"""
import socket, sys, time
name, count, kind = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3]
question = b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + bytes([len(name)]) + name + b"\0\0\1\0\1"
began, answers = time.monotonic(), 0
if kind == "udp":
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.settimeout(0.05)
    for _ in range(0, count, 20):
        for _ in range(20):
            asking.sendto(question, ("127.0.0.11", 53))
        try:
            for _ in range(20):
                answers += asking.recv(999)[:2] == question[:2]
        except TimeoutError:
            pass
while kind == "tcp" and count:
    count -= 1
    try:
        with socket.create_connection(("127.0.0.11", 53), 0.1) as asking:
            asking.sendall((len(question).to_bytes(2, "big") + question) * 100)
            asking.shutdown(socket.SHUT_WR)
            got = b"".join(iter(lambda: asking.recv(65536), b""))
    except OSError:
        continue
    answers += got.count(question[:2])
print(answers, time.monotonic() - began)
"""


# Sends 3,000 packets, each of which begins another connection: to itself or an address of the internet, or to or from
# Docker's name server. Prints how many connections the kernel remembers in this namespace, more than before.
BEGIN = r"""
import socket, sys
to, own = sys.argv[1:]
remembered = lambda: int(open("/proc/sys/net/netfilter/nf_conntrack_count").read())
before = remembered()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
    sending.bind((own, 0))
    for port in range(2000, 5000):
        try:
            sending.sendto(b"x", (to, port))
        except ConnectionError:
            pass
print(remembered() - before)
"""


PER_SECOND, BYTES_BURST, BYTES_PER_SECOND = 50, 16 << 10, 4 << 10
EARLY = 20
"""What the kernel's clock, which is coarse, may let through in addition."""


def inside(under_test: DockerUnderTest, *command: str) -> str:
    process = under_test.client.inspect_container(under_test.name)["State"]["Pid"]
    entered = ["nsenter", f"--net={Path('/proc', str(process), 'ns/net')}", *command]
    return subprocess.run(entered, capture_output=True, text=True, check=True, timeout=120).stdout


def ask(under_test: DockerUnderTest, count: int, kind: str = "udp") -> tuple[int, float]:
    """Returns how many look-ups of its own name are answered, and the seconds that they took."""
    answers, seconds = inside(under_test, sys.executable, "-c", ASK, under_test.name, str(count), kind).split()
    return int(answers), float(seconds)


def another(under_test: DockerUnderTest) -> DockerUnderTest:
    images = under_test.image, under_test.probed_image
    return DockerUnderTest(under_test.engine, under_test.client, images)


def test_dns_queries_of_an_agent_are_limited_and_its_neighbours_are_answered(
    docker_under_test: DockerUnderTest,
) -> None:
    other, engine = another(docker_under_test), docker_under_test.engine
    ids = [deploy(each).container_id for each in (docker_under_test, other)]
    assert engine.limit_names(ids) is None
    answers, seconds = ask(docker_under_test, 400)
    assert answers <= QUESTIONS_BURST + PER_SECOND * seconds + EARLY
    assert ask(other, 20)[0] == 20
    answers, seconds = ask(other, 12, "tcp")
    question = len(other.name) + 20
    assert answers <= (BYTES_BURST + BYTES_PER_SECOND * seconds) / question + EARLY
    wait_until(lambda: ask(docker_under_test, 20)[0] > 0, within=60)


def test_each_start_of_an_agent_sets_its_dns_limit_and_no_other_container_s(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []

    def run(name: str, *arguments: str, **options: Any) -> str:
        entered.append(arguments[0])
        return run_program(name, *arguments, **options)

    monkeypatch.setattr(query_limits, "run_program", run)
    engine, client = docker_under_test.engine, docker_under_test.client
    made = deploy(docker_under_test).container_id
    foreign = docker_under_test.foreign(f"{docker_under_test.name}-other", {})
    for _ in range(2):
        assert engine.limit_names([made, foreign]) is None
    assert len(entered) == 1
    client.restart(made, timeout=0)
    rules = "iptables", "-w", "-t", "raw", "-S"
    assert query_limits.NAME_SERVER not in inside(docker_under_test, *rules)
    assert engine.limit_names([made, foreign]) is None
    assert inside(docker_under_test, *rules).count(query_limits.NAME_SERVER) == 7
    assert len(set(entered)) == len(entered) == 2


def test_an_agent_fills_no_table_of_connections_in_its_own_namespace(docker_under_test: DockerUnderTest) -> None:
    made = deploy(docker_under_test).container_id
    python = sys.executable, "-c", BEGIN
    assert int(inside(docker_under_test, *python, "127.0.0.1", "")) == 3000, "The engine has the kernel remember them."
    assert docker_under_test.engine.limit_names([made]) is None
    for to, own, most in (
        ("127.0.0.1", "", 0),
        ("11.1.2.3", "", 0),
        (query_limits.NAME_SERVER, "", QUESTIONS_BURST),
        ("127.0.0.1", query_limits.NAME_SERVER, QUESTIONS_BURST),
    ):
        began = time.monotonic()
        remembered = int(inside(docker_under_test, *python, to, own))
        assert remembered <= most + (PER_SECOND * (time.monotonic() - began) + EARLY if most else 0), (to, own)
    wait_until(lambda: ask(docker_under_test, 20)[0] > 0, within=60)
