"""`config/bin/uninstall` asks before anything ends, and the scripts read the service's settings as systemd does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from projects.management.confirmation import NO_ANSWER
from tests.config.test_scripts import write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
UNIT = "system/etc/systemd/system/berth.service"
PYTHON = f"""#!/bin/sh
# Of `manage.py`, which knows these options.
case $1 in -) exit 0 ;; -V) echo Python 3.11.2 && exit 0 ;; esac
echo "$2 $(test -e {UNIT} && echo served || echo ended) $BERTH_DATA_DIR" >>calls
shift 2
echo "$*" >>options
for option in "$@"; do
    case $option in --dry-run | --yes | --volumes | --help | --while-serving) ;; *) exit 2 ;; esac
done
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the scripts, stubs of what they run, and below `system` a service with a quoted setting."""
    shutil.copytree(ROOT / "config/bin", tmp_path / "config/bin")
    write_program(tmp_path / ".venv/bin/python", PYTHON)
    version = next(line for line in (ROOT / "config/bin/common.sh").read_text().splitlines() if "UV_VERSION=" in line)
    write_program(tmp_path / ".venv/bin/uv", f"#!/bin/sh\necho uv {version.partition('=')[2]}\n")
    made = dict.fromkeys(("data/berth.sqlite3", "uv.lock", "pyproject.toml", UNIT), "")
    for name, text in {**made, "system/etc/berth/environment": settings(tmp_path)}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def settings(folder: Path, quote: str = '"') -> str:
    return f"# The service's.\n BERTH_DATA_DIR = {quote}{folder}/data{quote} \n"


def run(checkout: Path, name: str, *options: str, said: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {"DESTDIR": "system", "PATH": "/usr/bin:/bin"}
    script = checkout / "config/bin" / name
    return subprocess.run(
        [script, *options], env=environment, input=said, capture_output=True, text=True, check=False, timeout=60
    )


def lines(checkout: Path, name: str) -> list[str]:
    return (checkout / name).read_text().splitlines()


@pytest.mark.parametrize("said", ["no\n", "y\n", ""])
def test_without_a_yes_the_service_is_kept(checkout: Path, said: str) -> None:
    done = run(checkout, "uninstall", "--volumes", said=said)
    assert done.returncode == 0
    assert (NO_ANSWER in done.stdout) == (not said)
    assert lines(checkout, "options") == ["--dry-run --volumes"]
    assert (checkout / UNIT).exists()


@pytest.mark.parametrize("option", ["--volums", "--dry", "--ye", "-hx"])
def test_a_mistyped_option_keeps_the_service(checkout: Path, option: str) -> None:
    assert run(checkout, "uninstall", option, said="yes\n").returncode == 2
    assert len(lines(checkout, "calls")) == 1
    assert (checkout / UNIT).exists()


@pytest.mark.parametrize("option", ["--dry-run", "--help"])
def test_a_dry_run_ends_nothing_and_asks_nothing(checkout: Path, option: str) -> None:
    done = run(checkout, "uninstall", option, "--volumes", said="yes\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert lines(checkout, "options") == [f"{option} --volumes"]
    assert (checkout / UNIT).exists()


@pytest.mark.parametrize(("options", "said"), [(("--volumes",), "yes\n"), (("--volumes", "--yes"), "")])
def test_uninstall_lists_asks_stops_the_service_and_then_removes(
    checkout: Path, options: tuple[str, ...], said: str
) -> None:
    done = run(checkout, "uninstall", *options, said=said)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("Type yes" in done.stdout) == bool(said)
    data = checkout / "data"
    assert lines(checkout, "calls") == [f"uninstall served {data}", f"uninstall ended {data}"]
    assert lines(checkout, "options") == [f"--dry-run {' '.join(options)}", f"--yes {' '.join(options)}"]


@pytest.mark.parametrize("script", ["uninstall", "upgrade"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_settings_are_read_in_systemd_s_syntax(checkout: Path, script: str, quote: str) -> None:
    (checkout / "system/etc/berth/environment").write_text(settings(checkout, quote))
    run(checkout, script)
    assert lines(checkout, "calls")[0].endswith(f" {checkout}/data")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"a\"b\\c\$d"', r'a"b\c$d'),
        (r"'a\"b'", r"a\"b"),
        ('"a b"', "a b"),
        ("a=b?c=d", "a=b?c=d"),
        (r"a\b\\c", r"ab\c"),
        ("\"a='b'\"", "a='b'"),
        ("", ""),
    ],
)
def test_a_quoted_value_is_kept_unchanged(checkout: Path, written: str, read: str) -> None:
    (checkout / "system/etc/berth/environment").write_text(f"; DATABASE_URL=no\nDATABASE_URL={written}")
    asked = ["bash", "-c", "source config/bin/common.sh; source config/bin/service.sh; setting DATABASE_URL"]
    environment = {"DESTDIR": "system", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(asked, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.removesuffix("\n") == read
