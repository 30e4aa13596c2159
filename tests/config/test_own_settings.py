"""A line of `var/berth.env` that cannot be read stops each script, and its contents are not shown."""

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.config.test_scripts import write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

GOOD = r"""
# A comment, and "quotes' in it
; another one
BERTH_PORT=8123
  BERTH_HOST = 127.0.0.1
BERTH_A = "a\"b\\c\$d"
BERTH_B='a\"b'
BERTH_C=a\b\\c
BERTH_D=
BERTH_E=a "b" 'c'
BERTH_F={"a": 1}
BERTH_G="a='b'"
"""
WRONG = {
    "export": "export BERTH_KEY=canary", "small letters": "berth_key=canary", "no value": "BERTH_KEY canary",
    "a space": "BERTH KEY=canary", "a digit first": "1BERTH=canary", "no name": "=canary",
    "a mark": "\ufeffBERTH_KEY=canary",
    "open double": 'BERTH_KEY="canary', "open single": "BERTH_KEY='canary", "closed too early": 'BERTH_KEY="ca"nary',
    "continued": "BERTH_KEY=canary\\", "escaped end": 'BERTH_KEY="canary\\"', "colon": "BERTH_KEY: canary",
}  # fmt: skip
SCRIPTS = {"run": "--all", "manage": "version", "upgrade": "", "uninstall": "--yes", "install-service": "--print"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("config/bin", "config/systemd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    write_program(tmp_path / ".venv/bin/python", "#!/bin/sh\necho called >>said\n")
    (tmp_path / "var").mkdir()
    return tmp_path


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("script", "what"), [*product(SCRIPTS, WRONG)])
def test_a_line_that_cannot_be_read_is_named_by_its_number(checkout: Path, script: str, what: str) -> None:
    (checkout / "var/berth.env").write_text(f"{GOOD}{WRONG[what]}\nBERTH_Z=z\n")
    done = subprocess.run(
        [checkout / "config/bin" / script, *SCRIPTS[script].split()],
        env={"PATH": "/usr/bin:/bin", "DESTDIR": "system"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    number = len(GOOD.splitlines()) + 1
    assert done.returncode == 1
    assert done.stderr.startswith(f"Line {number} of var/berth.env cannot be read. ")
    assert len(done.stderr.splitlines()) == 1
    assert "canary" not in done.stdout + done.stderr
    assert not (checkout / "said").exists()


@pytest.mark.parametrize("ending", ["\n", "", "\r\n"])
def test_every_line_that_systemd_reads_is_read(checkout: Path, ending: str) -> None:
    text = GOOD.rstrip("\n").replace("\n", ending or " \n") + ending
    (checkout / "var/berth.env").write_text(text, newline="")
    asked = ["bash", "-c", "source config/bin/common.sh; export_own_settings; env -0"]
    done = subprocess.run(
        asked, cwd=checkout, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    found = dict(each.split("=", 1) for each in done.stdout.rstrip("\0").split("\0"))
    assert {name: value for name, value in found.items() if name.startswith("BERTH_")} == {
        "BERTH_PORT": "8123", "BERTH_HOST": "127.0.0.1", "BERTH_A": 'a"b\\c$d', "BERTH_B": 'a\\"b', "BERTH_C": "ab\\c",
        "BERTH_D": "", "BERTH_E": "a \"b\" 'c'", "BERTH_F": '{"a": 1}', "BERTH_G": "a='b'",
    }  # fmt: skip


def test_settings_that_are_a_folder_are_refused(checkout: Path) -> None:
    (checkout / "var/berth.env").mkdir()
    done = subprocess.run(
        [checkout / "config/bin/manage", "version"],
        env={"PATH": "/usr/bin:/bin", "DESTDIR": "system"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "var/berth.env cannot be read. Run this as its owner.\n")


@pytest.mark.parametrize("name", ["BERTH_PORT", "BERTH_HOST", "BERTH_SIGNUP"])
def test_settings_without_a_last_line_end_keep_apart_from_the_service_s(checkout: Path, name: str) -> None:
    (checkout / "var/berth.env").write_text("BERTH_PORT=1\nBERTH_HOST=own")
    (checkout / "system/etc/berth").mkdir(parents=True)
    (checkout / "system/etc/berth/environment").write_text("BERTH_SIGNUP=open")
    asked = ["bash", "-c", f"source config/bin/common.sh; source config/bin/service.sh; setting {name}"]
    usual = {"PATH": "/usr/bin:/bin", "DESTDIR": "system"}
    done = subprocess.run(asked, cwd=checkout, env=usual, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == {"BERTH_PORT": "1", "BERTH_HOST": "own", "BERTH_SIGNUP": "open"}[name]
