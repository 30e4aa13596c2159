"""What an interruption of `config/bin/common.sh` leaves, and that the next run goes on."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.config.test_scripts import BASH, COMMON, UV, VERSION, calls, machine, run_function, write_program
from tests.waiting import wait_until

__all__ = ["machine"]


def test_packages_are_installed_again_after_an_interruption(machine: Path) -> None:
    """uv took a Django without its modules for installed, because it was killed after it had written the metadata."""
    uv = f"""#!/bin/sh
test "$1" = --version && echo "uv {UV}" && exit
echo "$*" >>calls
test ! -e kill || exec sh -c 'kill -KILL $$'
"""
    write_program(machine / ".venv" / "bin" / "python", VERSION)
    write_program(machine / ".venv" / "bin" / "uv", uv)
    for name in ("uv.lock", "pyproject.toml", "kill"):
        (machine / name).touch()
    assert run_function(machine, "make_environment --no-dev").returncode != 0
    (machine / "kill").unlink()
    for _ in range(2):
        assert run_function(machine, "make_environment --no-dev").returncode == 0
    usual = "sync --quiet --frozen --inexact"
    assert calls(machine) == [f"{usual} --no-dev", f"{usual} --reinstall --no-dev", f"{usual} --no-dev"]


PIP = """#!/bin/sh
echo "$*" >>calls
case "$*" in
*pip\\ install*--ignore-installed*) printf '#!{sh}\\necho uv {uv}\\n' >.venv/bin/uv; chmod 755 .venv/bin/uv ;;
esac
"""
"""Without the option it finds uv's metadata, and installs nothing."""


@pytest.mark.parametrize("left", [None, "", "#!/bin/sh\nexit 127\n"])
def test_uv_is_installed_again_after_an_interruption(machine: Path, left: str | None) -> None:
    """Its metadata are there before its program, which pip was killed before it had written: nothing, or half of it."""
    write_program(machine / ".venv" / "bin" / "python", PIP.format(sh=BASH, uv=UV))
    if left is not None:
        (machine / ".venv" / "bin" / "uv").write_text(left)
    for name in ("uv.lock", "pyproject.toml"):
        (machine / name).touch()
    done = run_function(machine, "make_environment --no-dev")
    assert done.returncode == 0, done.stderr


SLOW = """#!/bin/sh
sleep 1000 & echo $! >child
: >begun
wait
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_step_ends_with_all_its_processes(machine: Path, number: signal.Signals) -> None:
    """Of a build, mmdebstrap worked on for minutes."""
    write_program(machine / "tools" / "slow", SLOW)
    script = f"set -euo pipefail; source {COMMON}; step 'Being slow' slow; echo goes on"
    environment = {"PATH": str(machine / "tools"), "TMPDIR": str(machine), "HOME": "/"}
    with subprocess.Popen(
        [BASH, "-c", script], cwd=machine, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=hear_interrupts,  # noqa: PLW1509 - this process has no other threads then
    ) as process:  # fmt: skip
        wait_until((machine / "begun").exists)
        child = int((machine / "child").read_text())
        os.killpg(process.pid, number)  # as a terminal does
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert errors.endswith("Interrupted. Run it again to go on.\n")  # the shell may say before that what ended it
    wait_until(lambda: not Path(f"/proc/{child}").exists())
    assert list(machine.glob("tmp.*")) == []


def hear_interrupts() -> None:
    """A test that runs in the background of a script is deaf to them, and so would be what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
