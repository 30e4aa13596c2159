"""What root does for an installation of another user leaves no file that this user could not replace."""

import os
import shutil
from pathlib import Path

import pytest

from tests.config.serving.served import Installed
from tests.config.test_scripts import UV, machine, run_function, write_program

__all__ = ["machine"]
pytestmark = [
    pytest.mark.one_database,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
]
SOMEBODY = 12_345


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


@pytest.mark.rare(1)
def test_root_prepares_what_the_owner_of_the_data_can_use(tmp_path: Path) -> None:
    """A new database and the static files were root's: the owner's next start failed, which advised to run it as the
    owner.
    """
    data = tmp_path / "var"
    data.mkdir(mode=0o700)
    os.chown(data, SOMEBODY, SOMEBODY)
    installed = Installed(data)
    for command, code in (("backup", 1), ("prepare", 0)):  # the first one finds an empty database, and so makes one
        done = installed.command(command)
        assert done.returncode == code, done.stderr
        assert owners(data) == {SOMEBODY}
    assert (data / "static/staticfiles.json").exists()


def test_root_installs_what_the_owner_of_the_checkout_can_update(machine: Path) -> None:
    write_program(machine / ".venv/bin/python", "#!/bin/sh\necho Python 3.11.2\n")
    write_program(machine / ".venv/bin/uv", f'#!/bin/sh\necho "uv {UV}"\ntouch .venv/installed\n')
    (machine / ".venv/lib").symlink_to("/etc")
    for name in ("uv.lock", "pyproject.toml"):
        (machine / name).touch()
    for path in (machine, *machine.rglob("*")):
        shutil.chown(path, SOMEBODY, SOMEBODY) if not path.is_symlink() else None
    etc = Path("/etc").stat().st_uid
    done = run_function(machine, "make_environment --no-dev")
    assert (done.returncode, done.stderr) == (0, "")
    assert (machine / ".venv/installed").exists()
    assert owners(machine / ".venv") == {SOMEBODY}
    assert Path("/etc").stat().st_uid == etc
