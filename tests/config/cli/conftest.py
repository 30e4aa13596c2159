"""A user at a terminal, with settings in a separate folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import tests.config.cli.program  # noqa: F401 - the program is found by it


@dataclass(frozen=True)
class Done:
    """The result of a command: its exit code and its output."""

    code: int
    out: str
    err: str


Berth = Callable[..., Done]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user without settings, whose machine has no proxies."""
    for name in ("BERTH_URL", "BERTH_TOKEN", "BERTH_CONTEXT", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("berth_cli.waiting.POLL_SECONDS", 0.02)
    monkeypatch.setattr("berth_cli.logs.PAUSE", 0.01)
    return tmp_path


@pytest.fixture
def berth(capfd: pytest.CaptureFixture[str]) -> Berth:
    """Runs the command with these words."""
    from berth_cli.main import run

    def type_in(*words: str) -> Done:
        capfd.readouterr()
        try:
            code = run([*words])
        except SystemExit as error:  # of the parser
            code = int(error.code or 0)
        told = capfd.readouterr()
        return Done(code, told.out, told.err)

    return type_in
