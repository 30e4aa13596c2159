"""stack.yaml passes every variable of its `stack.env` to Berth, turns the gateway on, and `docker stack` accepts it."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compose.test_compose_file import FIXED, SOCKET
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

STACK = ROOT / "stack.yaml"
SET_BY_THE_FILE = {"BERTH_ENGINE", "BERTH_DRAIN_SECONDS"}
"""Set in addition to paths, which any such file sets."""
NEEDED = {"BERTH_IMAGE": "registry.example/berth@sha256:0", "DOCKER_GID": "999"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(STACK.read_text())["services"]
    return found


@pytest.mark.parametrize("name", ["web", "watcher"])
def test_every_variable_of_stack_env_reaches_berth(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["env_file"] == "stack.env"
    beside = {each.removesuffix("_FILE") for each in service["environment"]}
    keys = {"BERTH_SECRET_KEY", "BERTH_TOKEN_KEY", "BERTH_ENCRYPTION_KEYS"}
    assert beside <= FIXED | SET_BY_THE_FILE | keys
    # A value set next to that file takes precedence, so none of them may be one that an operator chooses.
    assert not any("$" in str(value) for value in service["environment"].values())
    head = STACK.read_text().partition("version:")[0]
    assert all(each in head for each in beside - keys)


def test_only_managers_run_services_with_the_engine_s_socket(services: dict[str, Any]) -> None:
    for name, service in services.items():
        has_socket = any(each["source"] == SOCKET for each in service["volumes"] if isinstance(each, dict))
        assert has_socket is (name != "postgres")
        assert ("node.role == manager" in service["deploy"]["placement"]["constraints"]) is has_socket
        if has_socket:
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


@pytest.mark.parametrize("name", ["web", "watcher"])
def test_a_busy_machine_does_not_get_berth_killed(services: dict[str, Any], name: str) -> None:
    """A Swarm kills a task after three failed checks unless the file sets another number. Each check starts an
    interpreter: it took 0.7 s on two cores at a load of 20, and 5 s with a fiftieth of a core."""
    check = services[name]["healthcheck"]
    assert int(check["timeout"].removesuffix("s")) >= 30
    assert check["retries"] >= 6
    image = re.search(r"^HEALTHCHECK .*\n.*timeout=(\d+)\)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert image
    assert int(image[1]) < int(check["timeout"].removesuffix("s"))


def test_the_head_of_the_file_names_each_secret(services: dict[str, Any]) -> None:
    text = STACK.read_text()
    made = set(re.findall(r"docker secret create (\w+) -", text.partition("version:")[0]))
    assert made == yaml.safe_load(text)["secrets"].keys() == {each for s in services.values() for each in s["secrets"]}


def test_the_node_script_is_printed_by_a_web_server_and_runs_on_every_node(services: dict[str, Any]) -> None:
    """`docker ps` on another node finds no web server."""
    assert "node.role == manager" in services["web"]["deploy"]["placement"]["constraints"]
    step = STACK.read_text().partition("# 5. ")[2].partition("# 6. ")[0]
    printed, _, run = step.partition("> berth-node.sh\n")
    assert "On a manager" in printed
    assert "Copy it to each node" in run


@pytest.mark.skipif(shutil.which("docker") is None, reason="There is no docker here.")
def test_docker_itself_accepts_the_file(tmp_path: Path) -> None:
    shutil.copy(STACK, tmp_path)
    (tmp_path / "stack.env").write_text("BERTH_SWARM_ACCEPT=no-new-privileges,swap\n")
    command = ["docker", "stack", "config", "--compose-file", "stack.yaml"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment | NEEDED, capture_output=True, text=True, check=False)
    if "docker stack COMMAND" in done.stdout + done.stderr or "unknown" in done.stderr:
        pytest.skip("This docker is older than `docker stack config`.")
    assert done.returncode == 0, done.stderr
    told = yaml.safe_load(done.stdout)["services"]["web"]
    assert told["environment"]["BERTH_SWARM_ACCEPT"] == "no-new-privileges,swap"
    assert told["image"] == NEEDED["BERTH_IMAGE"]
    refused = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "missing a value: Set it to the " in refused.stderr
