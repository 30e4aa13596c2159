"""`config/bin/manage` uses what the service uses, no matter what its settings contain."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.config.test_scripts import write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
SETTINGS = r"""# The service's.
BERTH_ALLOWED_HOSTS=a.example b.example
DATABASE_URL=postgresql://u:p$(touch made)@h/n?sslmode=require&application_name=x
DATABASE_URL_FILE="/run/the url"
BERTH_INSTANCE='on;a`machine`'
"""
OF_THE_SERVICE = {
    "BERTH_ALLOWED_HOSTS": "a.example b.example",
    "DATABASE_URL": "postgresql://u:p$(touch made)@h/n?sslmode=require&application_name=x",
    "DATABASE_URL_FILE": "/run/the url",
    "BERTH_INSTANCE": "on;a`machine`",
}
TELLS = '#!/bin/sh\nprintf "%s\\n" "$*" >said\nenv -0 >environment\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "config/bin", tmp_path / "config/bin")
    write_program(tmp_path / ".venv/bin/python", TELLS)
    (tmp_path / "system/etc/berth").mkdir(parents=True)
    (tmp_path / "system/etc/berth/environment").write_text(SETTINGS)
    return tmp_path


def manage(checkout: Path, *words: str, **shell: str) -> "subprocess.CompletedProcess[str]":
    environment = {"DESTDIR": "system", "PATH": f"{checkout}/tools:/usr/bin:/bin", **shell}
    script = checkout / "config/bin/manage"
    return subprocess.run([script, *words], env=environment, capture_output=True, text=True, check=False, timeout=60)


def told(checkout: Path) -> dict[str, str]:
    """The settings that the command has received."""
    lines = (checkout / "environment").read_text().rstrip("\0").split("\0")
    found = dict(line.split("=", 1) for line in lines)
    return {name: value for name, value in found.items() if name.startswith(("BERTH_", "DATABASE_", "DOCKER_"))}


def test_the_script_reads_the_unit_s_settings_and_not_the_shell_s(checkout: Path) -> None:
    done = manage(checkout, "backup", "to a file", BERTH_DATA_DIR="/other", DOCKER_HOST="unix:///other")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert told(checkout) == OF_THE_SERVICE
    assert (checkout / "said").read_text() == "manage.py backup to a file\n"
    assert not (checkout / "made").exists()


def test_a_drill_has_a_separate_database(checkout: Path) -> None:
    aside = ("BERTH_DATA_DIR=/a drill", "DATABASE_URL=", "DATABASE_URL_FILE=")
    assert manage(checkout, *aside, "restore", "X=1").returncode == 0
    assert told(checkout) == {
        **OF_THE_SERVICE, "BERTH_DATA_DIR": "/a drill", "DATABASE_URL": "", "DATABASE_URL_FILE": "",
    }  # fmt: skip
    assert (checkout / "said").read_text() == "manage.py restore X=1\n"


def test_the_documented_drill_uses_neither_the_service_s_database_nor_its_role(checkout: Path) -> None:
    """A role other than `all` stops every command with SQLite."""
    said = re.search(r'^beside="config/bin/manage ([^"]*)"', (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
    assert said
    with (checkout / "system/etc/berth/environment").open("a") as settings:
        settings.write("BERTH_ROLE_FILE=/run/role\nBERTH_ROLE=web\n")
    assert manage(checkout, *said[1].replace("$PWD", "/here").split(), "restore").returncode == 0
    found = told(checkout)
    assert {name: found[name] for name in ("DATABASE_URL", "DATABASE_URL_FILE", "BERTH_ROLE", "BERTH_ROLE_FILE")} == {
        "DATABASE_URL": "", "DATABASE_URL_FILE": "", "BERTH_ROLE": "", "BERTH_ROLE_FILE": "",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"])
def test_the_service_s_engine_is_used_and_not_the_shell_s(checkout: Path, name: str) -> None:
    assert manage(checkout, "version", **{name: "/other", "DOCKER_BUILDKIT": "1"}).returncode == 0
    assert told(checkout) == {**OF_THE_SERVICE, "DOCKER_BUILDKIT": "1"}


def test_without_a_service_the_shell_s_settings_are_used(checkout: Path) -> None:
    (checkout / "system/etc/berth/environment").unlink()
    assert manage(checkout, "version", BERTH_DATA_DIR="/other").returncode == 0
    assert told(checkout) == {"BERTH_DATA_DIR": "/other"}


OWN = "BERTH_DATA_DIR=/own\nBERTH_PORT='8123'\nBERTH_PORT=8124\n# BERTH_HOST=x\nBERTH_INSTANCE=own\n"


def test_settings_of_the_checkout_count_if_neither_shell_nor_service_sets_them(checkout: Path) -> None:
    (checkout / "var").mkdir()
    (checkout / "var/berth.env").write_text(OWN)
    assert manage(checkout, "version", BERTH_SIGNUP="open").returncode == 0
    assert told(checkout) == {"BERTH_DATA_DIR": "/own", "BERTH_PORT": "8124", **OF_THE_SERVICE}
    (checkout / "system/etc/berth/environment").unlink()
    assert manage(checkout, "version", BERTH_DATA_DIR="").returncode == 0
    assert told(checkout) == {"BERTH_DATA_DIR": "", "BERTH_PORT": "8124", "BERTH_INSTANCE": "own"}


def test_make_run_reads_the_checkout_s_settings_first() -> None:
    commands = (ROOT / "config/bin/run").read_text().partition("source config/bin/common.sh")[2].split()
    assert commands[0] == "export_own_settings"


def test_root_runs_commands_as_the_owner_and_others_do_not(checkout: Path) -> None:
    write_program(checkout / "tools/stat", "#!/bin/sh\necho daemon\n")
    write_program(checkout / "tools/setpriv", TELLS)
    done = manage(checkout, "reload")
    if os.geteuid() == 0:
        user, group, groups, *command = (checkout / "said").read_text().split()
        assert (user, group) == ("--reuid=daemon", f"--regid={_id_of('-g')}")
        assert groups.startswith(f"--groups={_id_of('-G').replace(' ', ',')}")
        assert command == [".venv/bin/python", "manage.py", "reload"]
        assert told(checkout) == OF_THE_SERVICE
    else:
        assert (done.returncode, done.stderr) == (1, "Run this as daemon, who runs the service, or as root.\n")


def _id_of(option: str) -> str:
    return subprocess.run(["id", option, "daemon"], capture_output=True, text=True, check=True).stdout.strip()


def test_settings_that_cannot_be_read_are_not_left_out(checkout: Path) -> None:
    """A folder stands for an unreadable file, because root can read any file."""
    (checkout / "system/etc/berth/environment").unlink()
    (checkout / "system/etc/berth/environment").mkdir()
    done = manage(checkout, "backup")
    assert done.returncode == 1
    assert "cannot be read. Run this as root." in done.stderr
    assert not (checkout / "said").exists()
