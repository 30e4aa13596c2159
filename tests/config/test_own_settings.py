"""A line of settings, the checkout's or the service's, that cannot be read stops each script, and is not shown."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.config.test_scripts import write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

GOOD = r"""
# A comment, and "quotes' in it, and C:\\
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
BERTH_H=é🦊
"""
WRONG = {
    "export": "export BERTH_KEY=canary", "small letters": "berth_key=canary", "no value": "BERTH_KEY canary",
    "a space": "BERTH KEY=canary", "a digit first": "1BERTH=canary", "no name": "=canary",
    "a mark": "\ufeffBERTH_KEY=canary",
    "open double": 'BERTH_KEY="canary', "open single": "BERTH_KEY='canary", "closed too early": 'BERTH_KEY="ca"nary',
    "continued": "BERTH_KEY=canary\\", "escaped end": 'BERTH_KEY="canary\\"', "colon": "BERTH_KEY: canary",
    "a null": "BERTH_KEY=can\0ary", "an escape": "BERTH_KEY=\x1b[2Jcanary",
    "blank and open double": 'BERTH_KEY= "canary', "blank and open single": "BERTH_KEY=\t'canary",
    "escaped blank": "BERTH_KEY=canary\\ ", "a line end of old": "BERTH_KEY=canary\rBERTH_A=canary",
    "not UTF-8": "BERTH_KEY=\udce4canary", "a noncharacter": "BERTH_KEY=\ufdd0canary",
    "a comment that goes on": "# canary \\",
}  # fmt: skip
NO_RESTART = 2
"""The exit code after which the unit is not started again."""
OWN, OF_THE_SERVICE = "var/berth.env", "system/etc/berth/environment"
SCRIPTS = {
    OWN: {
        "run": "--all", "manage": "version", "upgrade": "", "uninstall": "--yes", "install-service": "--print",
        "check-settings": "",
    },
    OF_THE_SERVICE: {
        "manage": "version", "upgrade": "", "uninstall": "--yes", "install-service": "--print", "uninstall-service": "",
        "check-settings": "",
    },
}  # fmt: skip
"""The scripts that read each file, with options."""
CASES = [(file, script, what) for file, scripts in SCRIPTS.items() for script, what in product(scripts, WRONG)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("config/bin", "config/systemd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    write_program(tmp_path / ".venv/bin/python", "#!/bin/sh\necho called >>said\n")
    for file in SCRIPTS:
        (tmp_path / file).parent.mkdir(parents=True)
    return tmp_path


def run(checkout: Path, script: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [checkout / "config/bin" / script, *options],
        env={"PATH": "/usr/bin:/bin", "DESTDIR": "system"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("file", "script", "what"), CASES)
def test_a_line_that_cannot_be_read_is_named_by_its_number(checkout: Path, file: str, script: str, what: str) -> None:
    (checkout / file).write_bytes(f"{GOOD}{WRONG[what]}\nBERTH_Z=z\n".encode("utf-8", "surrogateescape"))
    done = run(checkout, script, *SCRIPTS[file][script].split())
    number = len(GOOD.splitlines()) + 1
    assert done.returncode == (NO_RESTART if script == "check-settings" else 1)
    assert done.stderr.startswith(f"Line {number} of {file} cannot be read. ")
    assert len(done.stderr.splitlines()) == 1
    assert "canary" not in done.stdout + done.stderr
    assert not (checkout / "said").exists()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("file", "what"), [*product(SCRIPTS, WRONG)])
def test_the_service_names_a_wrong_line_and_is_not_started_again(checkout: Path, file: str, what: str) -> None:
    """systemd tried it every five seconds for ever: it looks at the exit code of the main process only."""
    unit = re.sub("^#.*", "", run(checkout, "install-service", "--print").stdout, flags=re.MULTILINE)
    (start,) = re.findall("^Exec(?:Condition|StartPre|Start)=(.* serve .*)$", unit, re.MULTILINE)
    assert f"RestartPreventExitStatus={NO_RESTART}" in unit.splitlines()
    number, wrong = len(GOOD.splitlines()) + 1, f"{GOOD}{WRONG[what]}\n"
    for text, code, said in ((wrong, NO_RESTART, f"Line {number} of {file} cannot be read. "), (GOOD, 0, "")):
        (checkout / file).write_bytes(text.encode("utf-8", "surrogateescape"))
        started = subprocess.run(
            start.split(), env={"PATH": "/usr/bin:/bin", "DESTDIR": "system"}, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
        assert (started.returncode, started.stderr[: len(said)]) == (code, said)
        assert len(started.stderr.splitlines()) == int(bool(said))
        assert (checkout / "said").exists() == (not said)


@pytest.mark.parametrize("ending", ["\n", "", "\r\n"])
@pytest.mark.parametrize("file", SCRIPTS)
def test_every_line_that_systemd_reads_is_read(checkout: Path, file: str, ending: str) -> None:
    text = GOOD.rstrip("\n").replace("\n", ending or " \n") + ending
    (checkout / file).write_text(text, newline="")
    asked = ["bash", "-c", "source config/bin/common.sh; source config/bin/service.sh; export_settings; env -0"]
    usual = {"PATH": "/usr/bin:/bin", "DESTDIR": "system"}
    done = subprocess.run(asked, cwd=checkout, env=usual, capture_output=True, text=True, check=True)
    found = dict(each.split("=", 1) for each in done.stdout.rstrip("\0").split("\0"))
    assert {name: value for name, value in found.items() if name.startswith("BERTH_")} == {
        "BERTH_PORT": "8123", "BERTH_HOST": "127.0.0.1", "BERTH_A": 'a"b\\c$d', "BERTH_B": 'a\\"b', "BERTH_C": "ab\\c",
        "BERTH_D": "", "BERTH_E": "a \"b\" 'c'", "BERTH_F": '{"a": 1}', "BERTH_G": "a='b'",
        "BERTH_H": "é🦊",
    }  # fmt: skip


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("file", SCRIPTS)
def test_settings_that_are_no_file_are_refused(checkout: Path, file: str, make: Callable[[Path], None]) -> None:
    make(checkout / file)
    done = run(checkout, "manage", "version")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{file}{')' if file == OF_THE_SERVICE else ''} cannot be read. Run this as " in done.stderr


@pytest.mark.parametrize("name", ["BERTH_PORT", "BERTH_HOST", "BERTH_SIGNUP"])
def test_settings_without_a_last_line_end_keep_apart_from_the_service_s(checkout: Path, name: str) -> None:
    (checkout / "var/berth.env").write_text("BERTH_PORT=1\nBERTH_HOST=own")
    (checkout / "system/etc/berth/environment").write_text("BERTH_SIGNUP=open")
    asked = ["bash", "-c", f"source config/bin/common.sh; source config/bin/service.sh; setting {name}"]
    usual = {"PATH": "/usr/bin:/bin", "DESTDIR": "system"}
    done = subprocess.run(asked, cwd=checkout, env=usual, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == {"BERTH_PORT": "1", "BERTH_HOST": "own", "BERTH_SIGNUP": "open"}[name]
