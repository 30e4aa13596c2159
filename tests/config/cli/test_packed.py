"""The single file that people download: the same everywhere, standard library only, for Python 3.9 or newer."""

import ast
import os
import pty
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from config.cli.pack import PROGRAM, pack
from config.cli.view import VERSION_HEADER
from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import OtherEnd
from tests.fakes.messages import Answer, Request

pytestmark = pytest.mark.one_database

MODULES = sorted(PROGRAM.rglob("*.py"))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """The file after `curl -o berth && chmod +x berth`."""
    file = tmp_path / "bin" / "berth"
    file.parent.mkdir()
    file.write_bytes(pack().content)
    file.chmod(0o755)
    return file


def serve(_request: Request) -> Answer:
    return Answer(200, pack().content, {VERSION_HEADER: pack().version})


def test_anybody_may_download_the_program_and_check_for_a_new_version(client: Client) -> None:
    answer = client.get("/cli")
    assert answer.status_code == 200
    assert answer.content == pack().content
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer[VERSION_HEADER] == pack().version
    again = client.get("/cli", headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head("/cli")["ETag"] == answer["ETag"]
    assert client.post("/cli").status_code == 405


def test_the_program_reveals_nothing_about_the_installation() -> None:
    """Not even the version of the service, with which strangers could look up its vulnerabilities."""
    names = set(zipfile.ZipFile(BytesIO(pack().content)).namelist())
    assert names == {path.relative_to(PROGRAM).as_posix() for path in MODULES}
    assert settings.BERTH_VERSION.encode() not in pack().content


def test_the_same_program_is_the_same_file() -> None:
    first = pack().content
    pack.cache_clear()
    assert pack().content == first


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_every_module_runs_on_an_old_python(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        named = node.module if isinstance(node, ast.ImportFrom) else None
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [named] if named else []
        for name in names:
            assert name.partition(".")[0] in sys.stdlib_module_names | {"berth_cli"}


def test_the_file_runs_and_asks_in_a_terminal_without_showing_secrets(packed: Path, home: Path) -> None:
    """Through a pseudo-terminal: it asks for name, token and key, and shows only the name."""
    with OtherEnd() as other_end:
        environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(home), "BERTH_NO_HINTS": "1",
                       "BERTH_URL": other_end.url, "BERTH_TOKEN": "berth_x", "TERM": "dumb"}  # fmt: skip
        catalogue: dict[str, Any] = {
            "/api/types": [
                {"slug": "assistant", "is_default": True, "needs_telegram_token": True, "needs_api_key": True}
            ],
            "/api/plans": [{"slug": "free", "is_default": True}, {"slug": "pro"}],
        }
        other_end.respond = lambda request: (
            Answer.json(200, catalogue[request.path]) if request.path in catalogue else None
        )
        seen, code = talk(
            [str(packed), "deploy"], environment,
            {"Name of the agent": "Pilot", "[free]": "", "Telegram bot": "5:AAsecret", "API key": "sk-secret"},
        )  # fmt: skip
    body = next(request.fields() for request in other_end.seen if request.method == "POST")
    assert code == 0, seen
    assert body == {"name": "Pilot", "plan": "free", "telegramToken": "5:AAsecret", "apiKey": "sk-secret"}
    assert "secret" not in seen
    assert "https://t.me/pilot_bot" in seen


def talk(command: list[str], environment: dict[str, str], answers: dict[str, str]) -> tuple[str, int]:
    """Answers each question in a separate terminal. Returns what the terminal shows, and the exit code."""
    waiting = dict(answers)
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, environment)
    seen = ""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece.decode()
        for question in [each for each in waiting if each in seen]:
            os.write(terminal, f"{waiting.pop(question)}\n".encode())
    os.close(terminal)
    return seen, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_an_upgrade_replaces_the_file_in_one_step(berth: Berth, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(packed)])
    with OtherEnd(serve) as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        assert "This is what" in berth("upgrade").out
        with zipfile.ZipFile(packed, "a") as older:
            older.writestr("of_before.py", "")
        upgraded = berth("upgrade")
        assert (upgraded.code, upgraded.err) == (0, "")
        assert packed.read_bytes() == pack().content
        assert packed.stat().st_mode & 0o777 == 0o755
        assert all("authorization" not in request.headers for request in other_end.seen)
        other_end.respond = lambda _: Answer(200, pack().content[:-300])
        assert berth("upgrade").code == 1
        other_end.respond = lambda _: Answer(404, b"")
        assert berth("upgrade").code == 1
    assert packed.read_bytes() == pack().content


def test_a_newer_version_is_announced_once_a_day(berth: Berth, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(packed)])
    monkeypatch.setattr("berth_cli.upgrade.sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")

    def respond(request: Request) -> Answer | None:
        return Answer(200, b"", {VERSION_HEADER: "99.1"}) if request.path == "/cli" else None

    with OtherEnd(respond) as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        told = [berth("whoami").err for _ in range(2)]
    now = pack().version
    assert told == [f"Version 99.1 of this program is available, and this is {now}: `berth upgrade` installs it.\n", ""]


def test_an_unwritable_note_ends_no_command(berth: Berth, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script of a user without a home directory has deployed, and says so."""
    monkeypatch.setattr(sys, "argv", [str(packed)])
    monkeypatch.setattr("berth_cli.upgrade.sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("berth_cli.private_files.Path.home", _have_no_home)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    with OtherEnd() as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = berth("deploy", "x", "--json")
    assert (done.code, done.err) == (0, "")


def _have_no_home() -> Path:
    raise RuntimeError


def test_a_program_that_changes_has_another_version() -> None:
    """So that users of the previous version are told to fetch it. This line changes with the program."""
    expected = ("1.6", "0a0a1d5df7069e0e")
    found = (pack().version, pack().digest[:16])
    assert found == expected, f"Raise VERSION if people notice the change, and write here what is found then: {found}"
