"""`make uninstall-service` removes what closes the agents' network at boot; the engine starts no agent then."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.programs import is_root
from tests.containers.firewall.machine import Machine, make_machine
from tests.paths import ROOT

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (is_root() and shutil.which("unshare")), reason="takes root and unshare"),
]

UNITS = ("berth.service", "berth-firewall.service")
IN_A_COPY = """\
set -e
mount -t tmpfs none "$1"
cp -a /etc "$1/etc"
mkdir -p "$1/etc/systemd/system" "$1/etc/berth" "$1/run/systemd/system" "$1/nothing"
for unit in {units}; do : >"$1/etc/systemd/system/$unit"; done
[ -z "$2" ] || printf %s "$2" >"$1/etc/berth/environment"
mount --bind "$1/etc" /etc
[ ! -d /usr/local/lib/berth ] || mount --bind "$1/nothing" /usr/local/lib/berth
mount --bind "$1/run" /run
code=0
config/bin/"$3" || code=$?
ls /etc/systemd/system | grep ^berth || :
exit $code
""".format(units=" ".join(UNITS))
"""Runs the script on a machine with a copy of this one's `/etc`, apparently with systemd, and with these settings."""


class Systemd:
    """A `systemctl` that records its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        for name, script in (
            ("systemctl", f'#!/bin/sh\necho "$*" >>{self.log}\n'),
            ("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
        ):
            program = folder / name
            program.write_text(script)
            program.chmod(0o755)

    def has_no_docker(self) -> None:
        program = self.folder / "systemctl"
        program.write_text(program.read_text() + '[ "$1" != cat ]\n')

    def uninstall(self, settings: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.run("uninstall-service", settings, **environment)

    def run(self, script: str, settings: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        place = self.folder / "copy"
        place.mkdir(exist_ok=True)
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", IN_A_COPY, "sh", str(place), settings, script],
            env={"PATH": f"{self.folder}:{os.environ['PATH']}", **environment},
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def systemd(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    if not shutil.which("dockerd"):
        pytest.skip("takes dockerd")
    with make_machine() as made:
        yield made


def policies(machine: Machine) -> set[str]:
    found = (machine.client.inspect_container(each["Id"]) for each in machine.client.containers(all=True))
    return {each["HostConfig"]["RestartPolicy"]["Name"] for each in found}


@pytest.mark.rare(2)
@pytest.mark.docker
def test_the_engine_starts_no_agent_at_the_next_boot(
    machine: Machine, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one of another installation that relied on the same unit: the script knows neither's name."""
    monkeypatch.setenv("DOCKER_HOST", machine.engine.url)
    with override_settings(BERTH_BOOT_FIREWALL="on", BERTH_FIREWALL="off"):
        machine.deploy(DockerEngine())
    assert policies(machine) == {"unless-stopped"}
    done = systemd.uninstall(f'BERTH_BOOT_FIREWALL="on"\nDOCKER_HOST="{machine.engine.url}"\n')
    assert (done.returncode, done.stderr) == (0, "")
    assert not set(UNITS) & set(done.stdout.split())
    assert "Remove BERTH_BOOT_FIREWALL from /etc/berth/environment" in done.stdout
    assert policies(machine) == {"no"}
    assert machine.is_running()


@pytest.mark.parametrize("settings", ["", "DOCKER_HOST=unix:///nowhere.sock\n", "DOCKER_HOST=tcp://127.0.0.1:1\n"])
def test_with_a_silent_engine_the_units_are_kept(systemd: Systemd, settings: str) -> None:
    """The agents that it would start at the next boot could not be changed."""
    done = systemd.uninstall(settings)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("The units stay, ")
    assert "Start Docker" in done.stderr
    assert set(UNITS) <= set(done.stdout.split())
    assert "disable --quiet berth-firewall.service" not in systemd.log.read_text().splitlines()


def test_without_docker_the_units_are_removed(systemd: Systemd) -> None:
    systemd.has_no_docker()
    done = systemd.uninstall("")
    assert (done.returncode, done.stderr) == (0, "")
    assert not set(UNITS) & set(done.stdout.split())


def test_no_unit_is_installed_if_no_engine_would_wait_for_it(systemd: Systemd) -> None:
    """With the Docker of a snap, for example, Berth would believe that the unit closes its agents' network at boot."""
    systemd.has_no_docker()
    done = systemd.run("install-service", "")
    assert done.returncode == 1
    assert "There is no docker.service here" in done.stderr
    assert systemd.log.read_text().splitlines() == ["cat docker.service"]
