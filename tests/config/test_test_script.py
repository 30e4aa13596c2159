"""What an interrupted `config/bin/test` leaves on the machine: nothing that a later run or program would trip over."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.config.test_interrupted_scripts import hear_interrupts
from tests.config.test_scripts import write_program
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
SCRIPT = ROOT / "config" / "bin" / "test"
WHOLE = "#!/bin/sh\necho whole\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The script's functions and its clean-up, without its run."""
    shutil.copytree(ROOT / "config/bin", tmp_path / "config/bin")
    lines = SCRIPT.read_text().splitlines()
    [end] = [number for number, line in enumerate(lines) if line == "make_environment --all-groups"]
    text = "\n".join([*lines[:end], "no_cluster=$PWD/createcluster.d/berth-tests.conf", '"$@"', ""])
    (tmp_path / "config/bin/test").write_text(text)
    write_program(tmp_path / ".venv/bin/python", "#!/bin/sh\nexit 1\n")
    return tmp_path


def begin(checkout: Path, *words: str) -> "subprocess.Popen[str]":
    environment = {"PATH": f"{checkout}/tools:/usr/bin:/bin", "TMPDIR": str(checkout), "HOME": str(checkout)}
    return subprocess.Popen(
        [checkout / "config/bin/test", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, preexec_fn=hear_interrupts,  # noqa: PLW1509 - no other threads then
    )  # fmt: skip


def interrupt(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGINT) -> None:
    """A terminal sends SIGINT to the whole group, and others SIGTERM to the script alone."""
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_check_in_the_background_ends_with_the_script(checkout: Path, number: signal.Signals) -> None:
    write_program(
        checkout / ".venv/bin/mypy", "#!/bin/sh\necho $$ >mypy.pid.new\nmv mypy.pid.new mypy.pid\nexec sleep 1000\n"
    )
    with begin(checkout, "eval", "start_check mypy .venv/bin/mypy; step Testing sleep 1000") as process:
        wait_until((checkout / "mypy.pid").exists)
        interrupt(process, number)
    pid = (checkout / "mypy.pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert list(checkout.glob("berth-test.*")) == []


@pytest.mark.parametrize("fails", [True, False])
def test_postgresql_may_have_a_cluster_again(checkout: Path, *, fails: bool) -> None:
    """Debian's setting stayed, so that a PostgreSQL installed later had no cluster."""
    write_program(checkout / "tools/apt-get", f"#!/bin/sh\n: >begun\n{'exit 1' if fails else 'exec sleep 1000'}\n")
    needs = "may_install() { true; }; engine_answers() { true; }; postgres_bin() { :; }; install_tools"
    with begin(checkout, "eval", needs) as process:
        wait_until((checkout / "begun").exists)
        if fails:
            process.communicate(timeout=60)
            assert process.returncode == 1
        else:
            interrupt(process)
    assert list((checkout / "createcluster.d").iterdir()) == []


@pytest.mark.parametrize("name", ["promtool", "registry"])
def test_a_program_in_the_cache_is_whole(checkout: Path, name: str) -> None:
    """Half of one was there with the right to run, and every later run used it."""
    program = {"promtool": "promtool", "registry": "docker-registry"}[name]
    write_program(checkout / "tools/apt-get", "#!/bin/sh\n: >prometheus_1.deb\n: >docker-registry_1.deb\n")
    write_program(checkout / "tools/dpkg-deb", "#!/bin/sh\n")
    write_program(checkout / "whole", WHOLE)
    tar = f"""#!/bin/sh
while test $# -gt 1; do test "$1" != --directory || cd "$2"; shift; done
mkdir -p usr/bin
head -c 9 {checkout}/whole >usr/bin/{program}
chmod 755 usr/bin/{program}
: >{checkout}/begun
test ! -e {checkout}/slow || exec sleep 1000
cp {checkout}/whole usr/bin/{program}
"""
    write_program(checkout / "tools/tar", tar)
    (checkout / "slow").touch()
    get = f"may_install() {{ true; }}; command() {{ false; }}; bring_{name}"
    with begin(checkout, "eval", get) as process:
        wait_until((checkout / "begun").exists)
        interrupt(process)
    cached = checkout / f".cache/berth-tests/{name}/usr/bin/{program}"
    assert not cached.exists()
    (checkout / "slow").unlink()
    with begin(checkout, "eval", get) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert cached.read_text() == (checkout / "whole").read_text()
    assert os.access(cached, os.X_OK)
