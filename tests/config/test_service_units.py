"""The systemd units that `make install-service` writes, checked with systemd's own tools."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from config.settings import BERTH_GRACE
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
UNITS = ("berth-firewall.service", "berth.service")
EXPOSURE = {"berth-firewall.service": 45, "berth.service": 67}
"""The highest values, in tenths of what `systemd-analyze security` counts: 100 is a unit that may do anything.
Root sets the rules."""

analyze = shutil.which("systemd-analyze")
needs_tool = pytest.mark.skipif(analyze is None, reason="systemd is not installed")


OF_THE_ENGINE = {"DOCKER_HOST": "tcp://engine:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/etc/berth/tls"}


def run(name: str, destination: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    environment = {"DESTDIR": str(destination), "PATH": "/usr/bin:/bin", "BERTH_DATA_DIR": str(destination / "data")}
    environment |= OF_THE_ENGINE | {"DOCKER_BUILDKIT": "1"}
    return subprocess.run(
        [ROOT / "config/bin" / name, *options], env=environment, capture_output=True, text=True, check=False
    )


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "data" not in path.relative_to(folder).parts
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("system")
    done = run("install-service", folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def unit(folder: Path, name: str) -> str:
    return (folder / "etc/systemd/system" / name).read_text()


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


@needs_tool
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_nothing_wrong(installed: Path, name: str) -> None:
    checked = subprocess.run(
        [str(analyze), "verify", "--man=no", installed / "etc/systemd/system" / name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line for line in checked.stderr.splitlines() if "berth" in line.replace(str(ROOT), "")] == []


@needs_tool
@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_only_the_necessary_rights(installed: Path, name: str) -> None:
    path = installed / "etc/systemd/system" / name
    asked = [str(analyze), "security", "--offline=true", f"--threshold={EXPOSURE[name]}", "--no-pager", str(path)]
    looked = subprocess.run(asked, capture_output=True, text=True, check=False)
    if "unrecognized option" in looked.stderr:
        pytest.skip("this version of systemd-analyze judges running units only")
    assert looked.returncode == 0, looked.stdout[-400:]


def test_docker_starts_no_agent_before_the_network_is_closed_and_berth_after_it(installed: Path) -> None:
    firewall, service = (unit(installed, name) for name in UNITS)
    assert values(firewall, "Before") == values(firewall, "RequiredBy") == ["docker.service"]
    assert "nftables.service" in values(firewall, "After")[0]
    assert values(firewall, "ReloadPropagatedFrom") == [
        names for names in values(firewall, "After") if "docker" not in names
    ]
    # A unit that is part of another one stops with it, and Docker, which requires this one, stops with this one.
    assert values(firewall, "PartOf") == []
    assert values(firewall, "ExecReload") == values(firewall, "ExecStart")
    assert "docker.service" in values(service, "After")[0].split()
    assert values(service, "WantedBy") == ["multi-user.target"]


def test_the_service_notifies_readiness_and_has_time_to_end(installed: Path) -> None:
    service = unit(installed, "berth.service")
    assert values(service, "Type") == ["notify"]
    assert int(values(service, "TimeoutStopSec")[0]) > BERTH_GRACE + 4
    assert values(service, "RestartPreventExitStatus") == ["2"]
    assert values(service, "ExecStartPre") == []  # systemd tries it again for ever, no matter how it ends
    (start,) = values(service, "ExecStart")
    check, _, command = start.partition(" ")
    assert check == f"{ROOT}/config/bin/check-settings"  # before a line that systemd leaves out does harm
    assert command == f"{ROOT}/.venv/bin/python manage.py serve --prepare"
    prepare, reload = values(service, "ExecReload")
    assert prepare.startswith(f"{check} ")
    for command in (prepare.removeprefix(f"{check} "), reload):
        assert command.startswith(f"{ROOT}/.venv/bin/python manage.py ")
    assert f"-{installed}/data" in values(service, "ReadWritePaths")[0]
    assert values(service, "RequiresMountsFor") == [f"{installed}/data"]
    assert (values(service, "RuntimeDirectory"), values(service, "RuntimeDirectoryMode")) == (["berth"], ["0700"])


def test_the_service_s_settings_override_those_of_the_checkout(installed: Path) -> None:
    """systemd uses the last one that it reads."""
    files = values(unit(installed, "berth.service"), "EnvironmentFile")
    assert files == [f"-{ROOT}/var/berth.env", "-/etc/berth/environment"]


def test_the_engine_s_address_is_kept_unchanged(installed: Path) -> None:
    """If a part of it is missing, a remote engine is called in plain text."""
    kept = dict(line.split("=", 1) for line in (installed / "etc/berth/environment").read_text().splitlines())
    assert kept == {"BERTH_DATA_DIR": f"{installed}/data", **OF_THE_ENGINE}


def test_to_install_again_changes_nothing_and_keeps_the_settings(installed: Path) -> None:
    settings = installed / "etc/berth/environment"
    settings.write_text(f"BERTH_DATA_DIR={installed}/elsewhere\nBERTH_PORT=8123\n")
    assert run("install-service", installed).returncode == 0
    first = snapshot(installed)
    assert run("install-service", installed).returncode == 0
    assert snapshot(installed) == first
    assert settings.read_text().endswith("BERTH_PORT=8123\n")
    assert f"-{installed}/elsewhere" in unit(installed, "berth.service")


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_the_data_directory_is_read_as_systemd_reads_it(tmp_path: Path, quote: str) -> None:
    settings = tmp_path / "etc/berth/environment"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"BERTH_DATA_DIR={quote}/srv/berth{quote}\nBERTH_PORT=8123\n")
    shown = run("install-service", tmp_path, "--print")
    assert "ReadWritePaths=/run -/srv/berth\n" in shown.stdout


@pytest.mark.parametrize(
    "path", ["/srv/a b", "/srv/a -/", "/srv/|e", "/srv/&", "/srv/a\nUser=root", "/srv/%h", '/srv/"']
)
def test_no_data_directory_adds_anything_to_the_unit(tmp_path: Path, path: str) -> None:
    environment = {"DESTDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "BERTH_DATA_DIR": path}
    done = subprocess.run(
        [ROOT / "config/bin/install-service", "--print"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "BERTH_DATA_DIR" in done.stderr


def test_the_units_can_be_looked_at_before(tmp_path: Path) -> None:
    shown = run("install-service", tmp_path, "--print")
    assert shown.returncode == 0
    assert "Type=notify" in shown.stdout
    assert "RequiredBy=docker.service" in shown.stdout
    assert not re.search("@[A-Z]+@", shown.stdout)
    assert snapshot(tmp_path) == {}


def test_to_uninstall_leaves_the_settings_only(tmp_path: Path) -> None:
    assert run("install-service", tmp_path).returncode == 0
    for _ in range(2):
        done = run("uninstall-service", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert set(snapshot(tmp_path)) == {"etc/berth/environment"}


@pytest.mark.parametrize("name", ["install-service", "uninstall-service"])
def test_an_unwritable_place_is_reported_in_one_sentence(name: str) -> None:
    if os.geteuid() == 0 and Path("/run/systemd/system").is_dir():
        pytest.skip("it would really be done here")
    environment = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run([ROOT / "config/bin" / name], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_place_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("install-service", tmp_path / "file")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1
