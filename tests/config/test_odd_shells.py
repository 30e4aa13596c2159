"""Each script of `config/bin` does the same in a shell with odd variables, another umask or closed streams."""

import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.config.test_scripts import run_function
from tests.config.test_unset_variables import SCRIPTS, checkout  # noqa: F401 - a fixture
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

ODD = {
    "CDPATH": {"CDPATH": "elsewhere:/usr"}, "Python's path": {"PYTHONPATH": "elsewhere", "PYTHONSAFEPATH": "1"},
    "Python's home": {"PYTHONHOME": "/nowhere"}, "language": {"LANG": "C", "LC_ALL": "C"},
    "no such language": {"LANG": "xx_XX.ISO-8859-1"}, "settings module": {"DJANGO_SETTINGS_MODULE": "other.settings"},
}  # fmt: skip
CLOSED = {"umask": "umask 077; ", "stdin": "exec <&-; ", "stdout": "exec >&-; ", "stderr": "exec 2>&-; "}


def run(folder: Path, script: str, before: str, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Runs it by its relative path, as a shell in the checkout does."""
    environment = {"PATH": "/usr/bin:/bin", "DESTDIR": "system", **variables}
    command = f"{before}config/bin/{script} {SCRIPTS[script]}"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def clean(text: str, code: int) -> tuple[int, list[str]]:
    """Without bash's own warning about a language that the machine lacks."""
    return code, [line for line in text.splitlines() if "setlocale" not in line]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("script", "odd"), [*product(set(SCRIPTS) - {"test"}, [*ODD, *CLOSED])])
def test_a_script_does_the_same_in_an_odd_shell(checkout: Path, script: str, odd: str) -> None:  # noqa: F811 - the fixture
    (checkout / "elsewhere/config/bin").mkdir(parents=True)
    (checkout / "elsewhere/config/__init__.py").touch()
    usual = run(checkout, script, "", {})
    done = run(checkout, script, CLOSED.get(odd, ""), ODD.get(odd, {}))
    expected = [clean(usual.stdout, usual.returncode), clean(usual.stderr, usual.returncode)]
    found = [clean(done.stdout, done.returncode), clean(done.stderr, done.returncode)]
    if odd == "stdout":
        # What cannot be written is an error, of which bash tells.
        assert done.returncode in {usual.returncode, 1}
        assert "Traceback" not in done.stderr
    elif odd == "stderr":
        assert (done.stdout, bool(done.returncode)) == (usual.stdout, bool(usual.returncode))
    else:
        assert found == expected


def test_every_script_clears_cdpath_before_it_changes_the_folder() -> None:
    for path in [*(ROOT / "config/bin").iterdir(), ROOT / ".ci/run"]:
        changes = [line for line in path.read_text().splitlines() if '"$(dirname' in line and "cd " in line]
        assert all(line.startswith('CDPATH=\'\' cd -- "$(dirname -- "$0")/..') for line in changes), path
        assert bool(changes) == (not path.suffix), path


def test_a_log_is_bounded_for_as_long_as_its_process_runs(tmp_path: Path) -> None:
    (tmp_path / "tools").symlink_to("/usr/bin")
    logged = "head -c 600 /dev/zero >>log; sleep 60 & engine=$!; bound_log $engine log 500 0.05 &"
    done = run_function(
        tmp_path, f"{logged} until [[ ! -s log ]]; do sleep 0.02; done; echo more >>log; kill $engine; wait"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "log").read_text() == "more\n"
    assert (tmp_path / "log.1").read_bytes() == bytes(600)
