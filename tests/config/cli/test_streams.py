"""Closed, full and forsaken streams: a command either does nothing, or what it does is known."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.cli.pack import PROGRAM
from tests.config.cli.other_end import PROJECT_ID, OtherEnd
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database

COMMANDS = {
    "list": ("list",),
    "list as JSON": ("list", "--json"),
    "start": ("start", PROJECT_ID),
    "start two": ("start", PROJECT_ID, "Harbour"),
    "deploy": ("deploy", "Harbour pilot"),
    "logs": ("logs", PROJECT_ID),
    "keys new": ("keys", "new", "x", "--email", "a@example.com", "--password-file", "password"),
    "keys rotate": ("keys", "rotate", "other", "--email", "a@example.com", "--password-file", "password"),
    "keys new as JSON": ("keys", "new", "x", "--json", "--email", "a@example.com", "--password-file", "password"),
    "help": ("--help",),
    "version": ("--version",),
    "completion": ("completion", "bash"),
    "context": ("context",),
}
FORSAKEN = "# nobody reads"
MAKES_KEYS = [name for name in COMMANDS if name.startswith("keys")]


@pytest.fixture
def other_end() -> Iterator[OtherEnd]:
    with OtherEnd() as server:
        server.respond = lambda request: (
            Answer.json(201, {"id": "new-key", "key": "berth_new"}) if request.path.endswith("/rotate") else None
        )
        yield server


def run(other_end: OtherEnd, home: Path, command: str, shell: str) -> tuple[int, str, str]:
    """Runs the program; `shell` redirects its streams. Nobody reads the output if it is `FORSAKEN`."""
    (home / "password").write_text("of nobody")
    environment = {
        "PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(home), "BERTH_NO_HINTS": "1", "BERTH_URL": other_end.url,
        "BERTH_TOKEN": "berth_x",
    }  # fmt: skip
    with subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, str(PROGRAM), *COMMANDS[command]],
        cwd=home, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stderr
        if shell == FORSAKEN:
            process.stdout.close()
            out, err = "", process.stderr.read()
            process.wait(60)
        else:
            out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "report it" not in err
    assert "Exception ignored" not in err
    return process.returncode, out, err


def revoked(other_end: OtherEnd) -> list[str]:
    return [request.path.rpartition("/")[2] for request in other_end.seen if request.method == "DELETE"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_with_standard_output_closed_nothing_is_done(other_end: OtherEnd, home: Path, command: str) -> None:
    """It acted, and then asked to report an AttributeError."""
    code, _, err = run(other_end, home, command, ">&-")
    assert (code, err) == (
        2, "berth: Standard output is closed, so nothing was done. Open it, or send it to /dev/null.\n"
    )  # fmt: skip
    assert other_end.seen == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_with_standard_output_full_it_says_that_the_command_is_done(
    other_end: OtherEnd, home: Path, command: str
) -> None:
    code, _, err = run(other_end, home, command, ">/dev/full")
    assert code == 1
    assert "The output cannot be written (No space left on device). The command itself has been carried out." in err


@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
def test_without_standard_error_or_input_a_command_does_the_same(
    other_end: OtherEnd, home: Path, command: str, shell: str
) -> None:
    usual = run(other_end, home, command, "")
    code, out, _ = run(other_end, home, command, shell)
    assert (code, out) == usual[:2]
    assert code == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", MAKES_KEYS)
@pytest.mark.parametrize("shell", [">/dev/full", FORSAKEN])
@pytest.mark.parametrize("is_refused", [False, True])
def test_a_key_that_nobody_has_seen_is_revoked(
    other_end: OtherEnd, home: Path, command: str, shell: str, *, is_refused: bool
) -> None:
    """It was valid for 90 days."""
    usual = other_end.respond
    assert usual is not None
    refused = Answer.json(503, {"detail": "Not now.", "code": "unavailable"})
    other_end.respond = lambda request: refused if is_refused and request.method == "DELETE" else usual(request)
    _, _, err = run(other_end, home, command, shell)
    assert revoked(other_end) == ["new-key" if command == "keys rotate" else PROJECT_ID]
    told = "berth: The new key, which could not be shown, still works: Not now. Revoke it on the settings page."
    assert (told if is_refused else "berth: The new key could not be shown, and has been revoked.") in err
