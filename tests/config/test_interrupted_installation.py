"""`make install-service` on a full disk, with a failing command, or interrupted: each file is whole, or as before.

And the service gets the settings of the shell as they are.
"""

import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.config.test_interrupted_scripts import hear_interrupts
from tests.config.test_manage_script import TELLS, manage, told
from tests.config.test_scripts import write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

SCRIPT = "closes the network\n"
LONG = "x" * 10_000
"""A setting that makes the settings the longest file. The units have 1 to 3 KiB."""
FILES = {
    "etc/systemd/system/berth-firewall.service": 0o644, "etc/systemd/system/berth.service": 0o644,
    "usr/local/lib/berth/close-agents": 0o755, "etc/berth/environment": 0o600,
}  # fmt: skip
MANAGE = f"""#!/bin/sh
test "$*" = "manage.py firewall --boot" || exit 9
test ! -e half || printf 'closes'
test ! -e half || eval "$(cat half)"
cat <<'END'
{SCRIPT}END
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("config/bin", "config/systemd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    write_program(tmp_path / ".venv/bin/python", MANAGE)
    return tmp_path


def install(checkout: Path, limit: str = "unlimited", **shell: str) -> "subprocess.CompletedProcess[str]":
    """`limit`: the 1,024 bytes that a file may have. What writes more fails, as on a full disk."""
    within = f'trap "" XFSZ; ulimit -f {limit}; exec config/bin/install-service'
    environment = {"DESTDIR": "system", "PATH": "/usr/bin:/bin", "BERTH_PUBLIC_URL": LONG} | shell
    return subprocess.run(
        ["/bin/bash", "-c", within], cwd=checkout, env=environment, capture_output=True, text=True, check=False,
        timeout=60, start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip


def files(checkout: Path) -> dict[str, tuple[bytes, int]]:
    system = checkout / "system"
    return {
        str(path.relative_to(system)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in system.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def whole(checkout: Path) -> dict[str, tuple[bytes, int]]:
    done = install(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    found = files(checkout)
    assert {name: mode for name, (_, mode) in found.items()} == FILES
    shutil.rmtree(checkout / "system")
    return found


HALFWAY: dict[str, tuple[str, str]] = {
    **{f"full after {kib} KiB": (str(kib), "") for kib in (0, 1, 2, 4, 8)},
    "the command fails": ("unlimited", "echo It does not work. >&2; exit 1"),
    "SIGINT": ("unlimited", "kill -INT 0; sleep 60"),
    "SIGTERM": ("unlimited", "kill -TERM 0; sleep 60"),
}


@pytest.mark.rare(1)
@pytest.mark.every_case
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("case", HALFWAY)
def test_each_file_is_whole_or_as_before(
    case: str, checkout: Path, whole: dict[str, tuple[bytes, int]], *, is_new: bool
) -> None:
    """The script was empty, which closes nothing at the next boot and says that it is well."""
    limit, half = HALFWAY[case]
    before = {}
    if not is_new:
        before = {name: (b"# the former one\n", mode) for name, (_, mode) in whole.items()}
        for name, (text, mode) in before.items():
            path = checkout / "system" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            path.chmod(mode)
    if half:
        (checkout / "half").write_text(half)
    done = install(checkout, limit)
    left = files(checkout)
    assert all(found in (whole[name], before.get(name)) for name, found in left.items())
    assert set(left) >= set(before)
    if is_new or half:
        assert done.returncode != 0
        assert "could not be written" in done.stderr or case in signal.Signals.__members__, done.stderr
    (checkout / "half").unlink(missing_ok=True)
    assert install(checkout).returncode == 0
    kept = {"etc/berth/environment": before["etc/berth/environment"]} if before else {}
    assert files(checkout) == whole | kept


VALUES = (
    "", "on", r"back\slash", r"\\two", '"quoted"', "it's", "'single'", 'a "word" inside', "$HOME `id` $(id)",
    " spaces ", "# no comment", "; neither", "a=b&c=%20d?e", "日本 …", "!{}[]()<>|~^*", "end\\", "\ttab\t",
)  # fmt: skip


def test_the_service_gets_the_values_of_the_shell(checkout: Path) -> None:
    """A backslash was lost, and so were spaces at the ends and quotation marks around a password."""
    shell = {f"BERTH_{number}": value for number, value in enumerate(VALUES)} | {"DATABASE_URL_FILE": "/run/the url"}
    assert install(checkout, **shell).returncode == 0
    write_program(checkout / ".venv/bin/python", TELLS)
    assert manage(checkout, "say").returncode == 0
    assert shell.items() <= told(checkout).items()


def test_a_value_of_several_lines_is_refused(checkout: Path) -> None:
    done = install(checkout, BERTH_X="one\nBERTH_Y=two")
    assert done.returncode != 0
    assert done.stderr.startswith("BERTH_X has several lines")
    assert "etc/berth/environment" not in files(checkout)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_checkout_whose_owner_has_no_name_gets_no_unit(checkout: Path) -> None:
    """The unit named the user UNKNOWN, with whom systemd does not start it."""
    os.chown(checkout, 54_321, 54_321)
    done = install(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith(f"The owner of {checkout}, user 54321, has no name here")
    assert done.stderr.count("\n") == 1
    assert not (checkout / "system").exists()
