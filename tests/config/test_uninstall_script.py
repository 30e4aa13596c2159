"""`config/bin/uninstall` asks before anything ends, and the scripts read the service's settings as systemd does."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from projects.management.confirmation import ANOTHER_ANSWER, NO_ANSWER
from tests.config.test_interrupted_scripts import hear_interrupts
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


ANOTHER = ANOTHER_ANSWER.format("yes")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("", NO_ANSWER),
        *((said, ANOTHER) for said in ("no\n", "y\n", "\n", " \n", "no", "YES\n", "y\\\nes\n", "\x1b[A\n")),
    ],
)
def test_without_a_yes_the_service_is_kept(checkout: Path, said: str, sentence: str) -> None:
    done = run(checkout, "uninstall", "--volumes", said=said)
    assert (done.returncode, done.stderr) == (1, f"{sentence}\n")
    assert lines(checkout, "options") == ["--dry-run --volumes"]
    assert (checkout / UNIT).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_question_keeps_the_service(checkout: Path, number: signal.Signals) -> None:
    environment = {"DESTDIR": "system", "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        [checkout / "config/bin/uninstall"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_interrupts,  # noqa: PLW1509 - this process has no other threads then
    ) as process:  # fmt: skip
        assert process.stdout
        said = ""
        while not said.endswith("Type yes to do this: "):
            said += process.stdout.read(1)
        os.killpg(process.pid, number)  # as a terminal does
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "\nInterrupted. Nothing was done.\n")
    assert lines(checkout, "options") == ["--dry-run"]
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
    assert "Nothing was done" not in done.stdout  # was said of an answer without the end of a line
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--yes",)])
@pytest.mark.parametrize("closed", ["data", "."])
def test_a_directory_of_another_user_is_not_taken_for_an_empty_one(
    checkout: Path, closed: str, options: tuple[str, ...]
) -> None:
    """It said that there is nothing to remove, while Berth and its agents ran."""
    (checkout / UNIT).unlink()
    (checkout / "system/etc/berth/environment").unlink()
    data = checkout / "data" if closed == "data" else checkout / "data/below"
    data.mkdir(exist_ok=True)
    (checkout / "data").chmod(0o700)
    os.chown(checkout / "data", 12_345, 12_345)
    done = subprocess.run(
        ["setpriv", "--bounding-set=-dac_override,-dac_read_search", checkout / "config/bin/uninstall", *options],
        env={"DESTDIR": "system", "PATH": "/usr/bin:/bin", "BERTH_DATA_DIR": str(data)}, input="",
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"{data}/berth.sqlite3 cannot be looked at (Permission denied), so nobody knows what is to be removed. Run "
        f"this as the owner of {data}, or as root.\n"
    )


@pytest.mark.parametrize("there", ["nothing", "a file in its place", "no folder"])
def test_nothing_is_removed_where_there_is_no_database(checkout: Path, there: str) -> None:
    (checkout / "data/berth.sqlite3").unlink()
    if there != "nothing":
        (checkout / "data").rmdir()
    if there == "a file in its place":
        (checkout / "data").touch()
    done = run(checkout, "uninstall")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Berth has no database here, so there is nothing to remove.")
