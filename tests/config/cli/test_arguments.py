"""Which arguments are accepted, what shells complete, and that no argument is a secret."""

import subprocess
from io import StringIO
from pathlib import Path

import pytest

from berth_cli.completion import _commands
from berth_cli.contexts import Context, change_contexts
from berth_cli.errors import UsageError
from berth_cli.private_files import read_secret
from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import OtherEnd

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(("typed", "offered"), [
    ([], "deploy"), (["status"], "Harbour pilot"), (["completion"], "zsh"), (["deploy"], "--plan"),
    (["--context"], "berth.example.org"), (["context"], "berth.example.org"),
])  # fmt: skip
def test_completion_lists_the_possible_words(
    berth: Berth, home: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], offered: str
) -> None:
    change_contexts(lambda found: found.with_one(Context(name="berth.example.org", url="https://berth.example.org")))
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    with OtherEnd() as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = berth("__complete", *typed)
    assert (done.code, done.err) == (0, "")
    assert offered in done.out.splitlines()


def test_bash_completes_a_name_with_a_space(berth: Berth, tmp_path: Path) -> None:
    script = berth("completion", "bash").out + (
        "berth() { [[ $1$2 == __completestatus ]] && printf 'Harbour pilot\\nHermit\\n--json\\n'; }\n"
        "COMP_WORDS=(berth status Harb) COMP_CWORD=2; _berth; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "Harbour\\ pilot\n"


def test_no_option_accepts_a_secret() -> None:
    """Arguments are visible in the list of processes."""
    options = {
        (action.option_strings[-1], action.nargs)
        for parser in _commands().values()
        for action in parser._actions
        if action.option_strings
    }
    secret = {name for name, nargs in options if any(word in name for word in ("token", "key", "password", "code"))}
    assert secret == {"--telegram-token-file", "--api-key-file", "--password-file", "--key-file", "--with-key"}
    assert ("--with-key", 0) in options


def test_a_file_with_more_than_a_secret_is_refused(tmp_path: Path) -> None:
    for content in ("", "two words", "a\nb", "x" * 5000):
        (tmp_path / "file").write_text(content)
        with pytest.raises(UsageError) as raised:
            read_secret(str(tmp_path / "file"), what="the key")
        assert "two" not in str(raised.value)


@pytest.mark.parametrize("source", ["file", "-"])
def test_the_mark_of_windows_belongs_to_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    (tmp_path / "file").write_text("\ufeffberth_x\r\n", newline="")
    monkeypatch.setattr("sys.stdin", StringIO("\ufeffberth_x\r\n"))
    assert read_secret("-" if source == "-" else str(tmp_path / "file"), what="the key") == "berth_x"


NO_TEXT = "a\udcff"


@pytest.mark.parametrize("typed", [
    ("list", "--query", NO_TEXT), ("logs", "x", "--since", NO_TEXT), ("keys", "revoke", NO_TEXT), ("rm", "x", NO_TEXT),
    ("deploy", "x", "--set", f"name={NO_TEXT}"), ("list", "--context", NO_TEXT),
])  # fmt: skip
def test_bytes_that_are_no_text_are_reported(
    berth: Berth, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...]
) -> None:
    monkeypatch.setenv("BERTH_URL", "http://127.0.0.1:1")
    done = berth(*typed)
    assert (done.code, done.out) == (2, "")
    assert "is not text" in done.err


DEEP = [200, *range(905, 985, 8), 30_000]


@pytest.mark.parametrize(("content", "said"), [
    ('{"a": "' + "x" * 65_536 + '"}', "is larger than 64 KB"), ("[" * 30_000 + "]" * 30_000, "nested too deeply"),
    ("{", "is not JSON."), ("[]", "is not a JSON object"), ('{"a": 1, "a": 2}', "has “a” twice in one object."),
    ('{"a": [{"b": 1, "\\u0062": 2}]}', "has “b” twice in one object."),
])  # fmt: skip
def test_invalid_settings_are_named(
    berth: Berth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, said: str
) -> None:
    monkeypatch.setenv("BERTH_URL", "http://127.0.0.1:1")
    file = tmp_path / f"{NO_TEXT}.json"  # the name of a file may be anything
    file.write_text(content)
    done = berth("deploy", "x", "--settings", str(file))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_settings_of_any_depth_are_sent_or_refused(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    with OtherEnd() as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = [berth("deploy", "x", "--no-wait", "--set", f"a:={'[' * depth}{']' * depth}") for depth in DEEP]
    assert [each.code for each in done] == sorted(each.code for each in done)
    assert (done[0].code, done[-1].code) == (0, 2)
    assert all("nested too deeply" in each.err for each in done if each.code)


def test_settings_with_the_mark_of_windows_are_settings(
    berth: Berth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    (tmp_path / "settings.json").write_text('\ufeff{"a": 5}')
    with OtherEnd() as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        assert berth("deploy", "x", "--no-wait", "--settings", str(tmp_path / "settings.json")).code == 0
    assert other_end.seen[0].fields()["settings"] == {"a": 5}


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\x9b2J", "\r"])
def test_no_argument_reaches_the_terminal_as_a_command(
    berth: Berth, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hidden: str
) -> None:
    """A word, an unknown option, and the value of each option of each command."""
    monkeypatch.setenv("BERTH_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("BERTH_TOKEN", "x")
    monkeypatch.chdir(tmp_path)
    tried = [[hidden], [f"--{hidden}"]]
    for name, parser in _commands().items():
        options = [action.option_strings[-1] for action in parser._actions if action.option_strings]
        begun = [[name], [name, "x"], [name, "x", "y"]]
        tried += [[*before, last] for before in begun for last in (hidden, f"--nope{hidden}")]
        tried += [[name, "x", f"{option}={hidden}"] for option in options]
    assert len(tried) > 200
    for words in tried:
        done = berth(*words)
        assert not set(hidden) & {"\x1b", "\x9b", "\r"} & set(done.out + done.err), words
