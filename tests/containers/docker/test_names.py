"""What the engine's name server tells an agent about others: names without a meaning."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from containers.identity import network_name
from containers.programs import is_root
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import OWNER, deploy

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not (is_root() and shutil.which("nsenter")), reason="takes root and nsenter"),
]

# Asks the engine's name server, as an agent does, for the name of an address. Prints the whole answer.
ASK = r"""
import json, socket, struct, sys
name = ".".join(reversed(sys.argv[1].split("."))) + ".in-addr.arpa"
question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0" + struct.pack("!HH", 12, 1)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(60)
    client.sendto(struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + question, ("127.0.0.11", 53))
    answer = client.recv(4096)
print(json.dumps("".join(chr(byte) if 32 < byte < 127 else "." for byte in answer[12 + len(question):])))
"""


def inside(docker_under_test: DockerUnderTest, address: str) -> str:
    """Returns the name server's answer to the agent, read in the agent's network namespace."""
    process = docker_under_test.client.inspect_container(docker_under_test.name)["State"]["Pid"]
    network = Path("/proc", str(process), "ns/net")
    command = ["nsenter", f"--net={network}", sys.executable, "-c", ASK, address]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return str(json.loads(done.stdout))


def test_an_agent_learns_nothing_from_the_names_of_others(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    other: Any = DockerUnderTest(
        docker_under_test.engine, docker_under_test.client, (docker_under_test.image, docker_under_test.probed_image)
    )
    deploy(other)
    ends = docker_under_test.client.inspect_container(other.name)["NetworkSettings"]["Networks"]
    answer = inside(docker_under_test, ends[network_name()]["IPAddress"])
    assert other.name in answer  # the question was understood: without names that mean nothing this would tell
    long_parts = [part for part in other.key.split("-") if len(part) > 4]  # four digits may occur by chance
    assert not any(part in answer for part in (*long_parts, OWNER))
    assert other.name.removeprefix(f"{settings.BERTH_INSTANCE}-").isalnum()


def test_the_resolver_of_an_agent_asks_the_chosen_name_servers(docker_under_test: DockerUnderTest) -> None:
    with override_settings(BERTH_DNS=["9.9.9.9", "2620:fe::fe"]):
        deploy(docker_under_test)
    made = docker_under_test.client.inspect_container(docker_under_test.name)
    assert made["HostConfig"]["Dns"] == ["9.9.9.9", "2620:fe::fe"]
