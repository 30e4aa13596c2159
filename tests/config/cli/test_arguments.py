"""What may be typed, what a shell offers while it is typed, and that no secret is."""

import subprocess
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
def test_a_shell_is_told_what_may_come(
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


def test_no_option_takes_a_secret() -> None:
    """Arguments stand in the list of processes."""
    options = {
        (action.option_strings[-1], action.nargs)
        for parser in _commands().values()
        for action in parser._actions
        if action.option_strings
    }
    secret = {name for name, nargs in options if any(word in name for word in ("token", "key", "password", "code"))}
    assert secret == {"--telegram-token-file", "--api-key-file", "--password-file", "--key-file", "--with-key"}
    assert ("--with-key", 0) in options


def test_a_file_with_more_than_a_secret_is_none(tmp_path: Path) -> None:
    for content in ("", "two words", "a\nb", "x" * 5000):
        (tmp_path / "file").write_text(content)
        with pytest.raises(UsageError) as raised:
            read_secret(str(tmp_path / "file"), what="the key")
        assert "two" not in str(raised.value)
