"""compose.yaml passes every variable to Berth, and gives the engine's socket only to the proxy."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import ROOT

pytestmark = pytest.mark.one_database

COMPOSE = ROOT / "compose.yaml"
OF_A_WATCHER = {"BERTH_WATCHER_PORT"}
FIXED = {"DATABASE_URL", "BERTH_DATA_DIR", "BERTH_HOST", "BERTH_PORT", "BERTH_ROLE", "DOCKER_HOST"} | OF_A_WATCHER
"""Paths in the containers, which only compose.yaml sets."""
SERVICE = ("setup", "web", "watcher")
SOCKET = "/var/run/docker.sock"
NEEDED = {"POSTGRES_PASSWORD": "secret", "DOCKER_GID": "999"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


def variables() -> set[str]:
    """Returns all variables in docs/configuration.md."""
    tables = (ROOT / "docs/configuration.md").read_text()
    return set(
        re.findall(
            r"`((?:BERTH|DOCKER|DATABASE)_[A-Z_]+)`",
            "\n".join(row.split("|")[1] for row in tables.splitlines() if row.count("|") > 2),
        )
    )


@pytest.mark.parametrize("name", SERVICE)
def test_every_variable_of_env_reaches_berth(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["env_file"] == ".env"
    environment = service["environment"]
    assert len(variables()) > 40
    assert FIXED - {"BERTH_ROLE"} - OF_A_WATCHER <= environment.keys()
    assert (environment.keys() >= OF_A_WATCHER) is (name == "watcher")
    # A value set next to that file repeats it, or is a default.
    beside = {name: str(value) for name, value in environment.items() if name not in FIXED}
    assert all(re.fullmatch(rf"\$\{{{name}:-[^}}]*\}}", value) for name, value in beside.items())
    head = COMPOSE.read_text().partition("services:")[0]
    assert all(each in head for each in FIXED)


def test_no_web_server_has_the_engine_s_socket(services: dict[str, Any]) -> None:
    assert {name for name, each in services.items() if any(SOCKET in volume for volume in each.get("volumes", []))} == {
        "setup",
        "socket-proxy",
    }
    assert services["socket-proxy"]["network_mode"] == "none"
    assert not services["setup"].get("ports")
    for name in ("web", "watcher"):
        assert services[name]["environment"]["DOCKER_HOST"] == "unix:///run/engine/docker.sock"


@pytest.mark.parametrize("name", [*SERVICE, "socket-proxy", "caddy"])
def test_each_service_has_only_the_necessary_rights(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service


def test_a_type_that_nobody_asked_for_delays_no_start(services: dict[str, Any]) -> None:
    """As with `make run`: the images of hermes and nanobot have half a gigabyte, and may not be buildable here."""
    commands = [services["setup"]["command"][-1], (ROOT / "Dockerfile").read_text().splitlines()[-1]]
    assert all("manage.py build_images --first-run" in command for command in commands)


def test_the_proxy_gets_the_same_names_as_berth(services: dict[str, Any]) -> None:
    asked = set(re.findall(r"BERTH_[A-Z_]+", (ROOT / "containers/socket_proxy/settings.py").read_text()))
    assert services["socket-proxy"]["environment"].keys() == asked


def test_the_images_can_be_built_without_buildkit() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert not re.search(r"--mount|--chmod|COPY --link|<<EOF|^# *syntax", dockerfile, re.MULTILINE)
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE) == ["berth-proxy", "berth"]


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="There is no docker-compose here.")
def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    """With each variable in `.env`; and it reports a required one that is missing."""
    shutil.copy(COMPOSE, tmp_path)
    said = {name: f"said-{name}" for name in variables() - FIXED} | NEEDED
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in said.items()))
    command = ["docker-compose", "--profile", "tls", "config"]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    for name in SERVICE:
        environment = yaml.safe_load(shown)["services"][name]["environment"]
        assert {each: str(environment[each]) for each in said} == said
    (tmp_path / ".env").write_text("DOCKER_GID=999\n")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode
