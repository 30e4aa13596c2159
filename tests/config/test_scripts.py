"""The functions of `config/bin/common.sh`, with stubs for the commands that they call."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

BASH = shutil.which("bash") or "/bin/bash"
COMMON = ROOT / "config" / "bin" / "common.sh"
UV = next(line.partition("=")[2] for line in COMMON.read_text().splitlines() if line.startswith("UV_VERSION="))
TOOLS = (
    "cat",
    "chmod",
    "chown",
    "cut",
    "flock",
    "mktemp",
    "readlink",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "tail",
    "touch",
    "tr",
)

PYTHON = """#!/bin/sh
# Of `manage.py build_images`: a machine without a registry, where mmdebstrap may be installed and may fail.
echo "$*" >>calls
command -v mmdebstrap >/dev/null && test ! -e broken && exit 0
test -e broken && { echo "CommandError: The base image could not be made."; exit 1; }
echo "CommandError: There is no base image." >&2
exit 3
"""
VERSION = "#!/bin/sh\necho Python 3.11.2\n"
APT_GET = """#!/bin/sh
case "$*" in *--simulate) exit 0 ;; esac
echo "apt-get $*" >>calls
touch tools/mmdebstrap && chmod 755 tools/mmdebstrap
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with a stub of Python, and tools without mmdebstrap."""
    (tmp_path / "tools").mkdir()
    for name in TOOLS:
        (tmp_path / "tools" / name).symlink_to(str(shutil.which(name)))
    write_program(tmp_path / "tools" / "apt-get", APT_GET)
    write_program(tmp_path / ".venv" / "bin" / "python", PYTHON)
    return tmp_path


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("#!/bin/sh", f"#!{shutil.which('sh')}"))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def ensure_images(machine: Path, *, may_install: bool = True) -> "subprocess.CompletedProcess[str]":
    return run_function(machine, f"may_install() {{ {str(may_install).lower()}; }}; ensure_images")


def run_function(machine: Path, command: str) -> "subprocess.CompletedProcess[str]":
    script = f"set -euo pipefail; source {COMMON}; {command}"
    environment = {"PATH": str(machine / "tools"), "TMPDIR": str(machine), "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        [BASH, "-c", script], cwd=machine, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def calls(machine: Path) -> list[str]:
    return (machine / "calls").read_text().splitlines()


def test_without_a_registry_the_first_run_shows_no_error(machine: Path) -> None:
    done = ensure_images(machine)
    assert done.returncode == 0
    assert "Error" not in done.stdout + done.stderr
    assert "failed" not in done.stdout + done.stderr
    assert calls(machine) == [
        "manage.py build_images --first-run",
        "apt-get install -y --no-install-recommends mmdebstrap",
        "manage.py build_images --first-run --no-pull",  # the registry is asked once
    ]


def test_outdated_package_lists_are_refreshed_without_an_error(machine: Path) -> None:
    old_lists = """#!/bin/sh
case "$*" in *--simulate) exit 0 ;; esac
echo "apt-get $*" >>calls
case "$*" in update) touch updated ;; esac
test -e updated || { echo "E: 404 Not Found"; exit 100; }
"""
    write_program(machine / "tools" / "apt-get", old_lists)
    done = run_function(machine, "install_packages 'Installing it' it")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    install = "apt-get install -y --no-install-recommends it"
    assert calls(machine) == [install, "apt-get update", install]


def test_the_error_is_shown_if_nothing_may_be_installed(machine: Path) -> None:
    done = ensure_images(machine, may_install=False)
    assert done.returncode == 1
    assert "CommandError: There is no base image." in done.stderr
    assert "Building the images: failed." in done.stderr
    assert calls(machine) == ["manage.py build_images --first-run"]


@pytest.mark.parametrize("has_mmdebstrap", [True, False])
def test_a_build_that_fails_is_shown_and_not_tried_again(machine: Path, *, has_mmdebstrap: bool) -> None:
    (machine / "broken").touch()
    if has_mmdebstrap:
        write_program(machine / "tools" / "mmdebstrap", "#!/bin/sh\n")
    done = ensure_images(machine)
    assert done.returncode == 1
    assert "CommandError: The base image could not be made." in done.stderr
    assert "The images could not be built. The lines above say why." in done.stderr
    assert calls(machine) == ["manage.py build_images --first-run"]


def test_an_environment_is_recreated_after_any_change_of_it(machine: Path) -> None:
    """A second start skips this, because it takes a third of a second."""

    def is_synced(options: str = "--no-dev") -> bool:
        return run_function(machine, f"is_synced {options}").returncode == 0

    write_program(machine / ".venv" / "bin" / "python", VERSION)
    packages = machine / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    write_program(machine / ".venv" / "bin" / "uv", f'#!/bin/sh\necho "uv {UV}"\n')
    (machine / "pyproject.toml").write_text("[project]\n")
    (machine / "uv.lock").write_text("version = 1\n")
    assert not is_synced()
    made = run_function(machine, "make_environment --no-dev")
    assert (made.returncode, is_synced(), is_synced("")) == (0, True, False), made.stderr
    for changed in ("uv.lock", "pyproject.toml"):
        before = (machine / changed).read_text()
        (machine / changed).write_text(before + "#\n")
        assert not is_synced()
        (machine / changed).write_text(before)
        assert is_synced()
    for version in ("3.12.1", "3.11.9"):
        write_program(machine / ".venv" / "bin" / "python", f"#!/bin/sh\necho Python {version}\n")
        assert not is_synced(), "The distribution has another Python by now."
    write_program(machine / ".venv" / "bin" / "python", VERSION)
    (packages.parents[1] / "python3.12" / "site-packages").mkdir(parents=True)
    assert is_synced(), "What an older Python had is nobody's."
    elsewhere = (machine / ".venv" / "bin" / "python").rename(machine / "python")
    (machine / ".venv" / "bin" / "python").symlink_to(elsewhere)
    assert not is_synced()
    elsewhere.rename(machine / ".venv" / "bin" / "python")
    assert is_synced()
    (packages / "installed_by_hand").touch()
    assert not is_synced()
    shutil.rmtree(packages)
    assert not is_synced()


def test_an_interrupted_environment_is_completed(machine: Path) -> None:
    """Ctrl-C during the first `make run` can leave an environment without pip."""
    python = """#!/bin/sh
echo "$*" >>calls
case "$*" in
-m\\ ensurepip*) touch pip ;;
-m\\ pip*) test -e pip || { echo "No module named pip" >&2; exit 1; } ;;
esac
"""
    write_program(machine / ".venv" / "bin" / "python", python)
    run_function(machine, "make_environment --no-dev")
    asked = [" ".join(call.split()[:3]) for call in calls(machine)]
    assert asked[:3] == ["-m pip --version", "-m ensurepip --upgrade", "-m pip install"]
