"""Each command of `manage.py` gives its result or a sentence in odd surroundings. Generated: a new one is in."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from config.management.environment import NO_OUTPUT
from tests.config.test_command_arguments import environment  # noqa: F401 - a fixture
from tests.config.valid_commands import ours, usual
from tests.paths import ROOT

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(300)]

COMMANDS = sorted(ours() - {"watch"})  # which does not end by itself

ODD: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None}, "no such home": {"HOME": "/nowhere"}, "safe path": {"PYTHONSAFEPATH": "1"},
    "another path": {"PYTHONPATH": "{folder}/other"}, "other settings": {"DJANGO_SETTINGS_MODULE": "other.settings"},
    "settings that are no module": {"DJANGO_SETTINGS_MODULE": "..x"}, "no settings": {"DJANGO_SETTINGS_MODULE": ""},
    "certificates missing": {"DOCKER_CERT_PATH": "/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:1"},
    "no certificates": {"DOCKER_TLS_VERIFY": "1", "DOCKER_HOST": "tcp://127.0.0.1:1"},
    "language": {"LANG": "C", "LC_ALL": "C"}, "no such language": {"LC_ALL": "xx_XX.ISO-8859-1"},
}  # fmt: skip
CLOSED = {
    "umask": "umask 077",
    "stdin": "exec <&-",
    "stdout": "exec >&-",
    "stderr": "exec 2>&-",
    "all": "exec <&- >&- 2>&-",
}


def run(surroundings: dict[str, str], odd: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    changed = {name: value for name, value in ODD.get(odd, {}).items() if value is not None}
    given = {name: value for name, value in surroundings.items() if name not in ODD.get(odd, {})}
    given |= {name: value.format(folder=folder) for name, value in changed.items()}
    own_network = ["unshare", "--net"] if os.geteuid() == 0 else []
    script = f'{CLOSED.get(odd, ":")}; exec "$@"'
    return subprocess.run(
        [*own_network, "bash", "-c", script, "bash", sys.executable, str(ROOT / "manage.py"), *arguments],
        env=given, cwd=folder / "here", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        start_new_session=True,  # without a terminal
    )  # fmt: skip


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("command", "odd"), [*product(COMMANDS, [*ODD, *CLOSED])])
def test_a_command_gives_its_result_or_a_sentence(
    command: str,
    odd: str,
    environment: dict[str, str],  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    kept = {name: value for name, value in environment.items() if name not in {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}}
    (tmp_path / "other").mkdir()
    for name in ("config", "accounts", "projects"):
        (tmp_path / "other" / f"{name}.py").write_text("raise SystemError('not this')\n")
    before = {path: path.read_bytes() for path in (tmp_path / "var").glob("*.key")}
    done = run(kept, odd, tmp_path, *usual(command).arguments(tmp_path / "var", "unix:///nowhere"))
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert "Exception ignored" not in said, said
    assert done.returncode in {0, 1, 2, 3}
    if done.returncode and odd not in {"stderr", "all"}:
        assert done.stderr.strip()
    assert before == {path: path.read_bytes() for path in (tmp_path / "var").glob("*.key")}
    assert (tmp_path / "var/berth.sqlite3").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("odd", ["stdin", "no home", "safe path", "another path", "other settings", "umask"])
def test_a_command_does_the_same_as_ever(odd: str, environment: dict[str, str], tmp_path: Path) -> None:  # noqa: F811 - the fixture
    (tmp_path / "other").mkdir()
    (tmp_path / "other/config.py").write_text("raise SystemError('not this')\n")
    kept = {name: value for name, value in environment.items() if name not in {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}}
    done = run(kept, odd, tmp_path, "backup", "archive.tar", "--with-keys", "keys.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Wrote" in done.stdout
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "here").iterdir()} == {"0o600"}


def test_a_command_whose_result_nobody_could_read_does_nothing(environment: dict[str, str], tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """A first admin's password is shown only once."""
    done = run(environment, "stdout", tmp_path, "backup", "archive.tar")
    assert (done.returncode, done.stderr) == (2, f"{NO_OUTPUT}\n")
    assert list((tmp_path / "here").iterdir()) == []
