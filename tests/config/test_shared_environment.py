"""Several commands that install in one checkout, and those that need not, or may not, write there."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from containers.programs import is_root
from tests.config.test_interrupted_installation import checkout
from tests.config.test_interrupted_scripts import hear_interrupts
from tests.config.test_scripts import BASH, COMMON, UV, VERSION, calls, machine, run_function, write_program
from tests.waiting import wait_until

__all__ = ["checkout", "machine"]

WAITS = "Another command installs what this checkout needs. This one waits for it.\n"
SYNC = "sync --quiet --frozen --inexact --no-dev"
SLOW_UV = f"""#!/bin/sh
test "$1" = --version && echo "uv {UV}" && exit
echo "$*" >>calls
while test -e calls && test ! -e go_on; do sleep 0.05; done  # not for ever, if a test ends early
"""


@pytest.fixture
def installing(machine: Path) -> Path:
    """A checkout whose packages are installed until there is a file `go_on`."""
    write_program(machine / ".venv" / "bin" / "python", VERSION)
    write_program(machine / ".venv" / "bin" / "uv", SLOW_UV)
    (machine / ".venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    for name in ("uv.lock", "pyproject.toml", "said"):
        (machine / name).touch()
    return machine


def start(machine: Path, then: str = ":") -> "subprocess.Popen[str]":
    script = f"set -euo pipefail; source {COMMON}; make_environment --no-dev; {then}"
    with (machine / "said").open("a") as said:
        environment = {"PATH": str(machine / "tools"), "TMPDIR": str(machine)}
        return subprocess.Popen(
            [BASH, "-c", script], cwd=machine, env=environment, stdout=said, stderr=said, text=True,
            start_new_session=True, preexec_fn=hear_interrupts,  # noqa: PLW1509 - this process has no other threads then
        )  # fmt: skip


def wait_for(machine: Path, text: str, *, file: str = "said") -> None:
    wait_until(lambda: (machine / file).exists() and text in (machine / file).read_text())


def test_a_second_command_waits_for_the_first_and_installs_nothing_again(installing: Path) -> None:
    """It took the first one for interrupted, and installed all packages again while the first wrote them."""
    with start(installing) as first:
        wait_for(installing, SYNC, file="calls")
        with start(installing) as second:
            wait_for(installing, WAITS)
            (installing / "go_on").touch()
            assert (first.wait(60), second.wait(60)) == (0, 0)
    assert calls(installing) == [SYNC]
    assert (installing / "said").read_text() == WAITS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_waiting_command_can_be_interrupted(installing: Path, number: signal.Signals) -> None:
    with start(installing) as first:
        wait_for(installing, SYNC, file="calls")
        with start(installing) as second:
            wait_for(installing, WAITS)
            second.send_signal(number)
            assert second.wait(60) == 130
        (installing / "go_on").touch()
        assert first.wait(60) == 0
    assert calls(installing) == [SYNC]


def test_a_killed_command_blocks_no_other(installing: Path) -> None:
    with start(installing) as first:
        wait_for(installing, SYNC, file="calls")
        group = int((Path(f"/proc/{first.pid}/task/{first.pid}/children")).read_text().split()[0])
        first.kill()
    subprocess.run(["kill", "-KILL", "--", f"-{group}"], check=True)
    (installing / "go_on").touch()
    with start(installing) as second:
        assert second.wait(60) == 0
    assert calls(installing) == [SYNC, SYNC.replace("--no-dev", "--reinstall --no-dev")]


def test_what_runs_afterwards_does_not_have_the_lock(installing: Path) -> None:
    (installing / "go_on").touch()
    with start(installing, then="exec sleep 1000") as server:
        wait_until(lambda: Path(f"/proc/{server.pid}/comm").read_text() == "sleep\n")
        (installing / "uv.lock").write_text("changed")
        with start(installing) as second:
            assert second.wait(60) == 0
        server.kill()
    assert calls(installing) == [SYNC, SYNC]
    assert (installing / "said").read_text() == ""


def test_without_locks_commands_go_on(installing: Path) -> None:
    (installing / "go_on").touch()
    (installing / "tools" / "flock").unlink()
    with start(installing) as command:
        assert command.wait(60) == 0
    assert calls(installing) == [SYNC]


def test_a_complete_environment_is_not_written(installing: Path) -> None:
    """A checkout may be read-only."""
    (installing / "go_on").touch()
    assert run_function(installing, "make_environment --no-dev").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in [installing, *(installing / ".venv").rglob("*")]}
    done = run_function(installing, "make_environment --no-dev")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert calls(installing) == [SYNC]


@pytest.mark.skipif(not (is_root() and shutil.which("unshare")), reason="takes root and unshare")
@pytest.mark.parametrize("has_some", [True, False])
def test_an_incomplete_environment_that_cannot_be_written_is_told_in_a_sentence(
    installing: Path, *, has_some: bool
) -> None:
    if not has_some:
        shutil.rmtree(installing / ".venv")
    within = f'mount --bind -o ro "$PWD" "$PWD" && cd "$PWD" && source {COMMON} && make_environment --no-dev'
    command = ["unshare", "--mount", BASH, "-uc", within]
    done = subprocess.run(command, cwd=installing, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"What Berth needs is not installed or not up to date, and {installing} cannot be written. Run this as its "
        "owner, where it can be.\n"
    )


@pytest.mark.parametrize("script", ["manage backup", "manage BERTH_PORT=1 reload", "install-service"])
def test_commands_in_a_fresh_checkout_name_the_one_that_comes_first(checkout: Path, script: str) -> None:
    shutil.rmtree(checkout / ".venv")
    name, *words = script.split()
    done = subprocess.run(
        [checkout / "config/bin" / name, *words], env={"DESTDIR": "system", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    sentence = "Run `make run` once first. It installs what Berth needs.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
