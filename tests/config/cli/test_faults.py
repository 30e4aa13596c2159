"""Each command with each fault of the server: one sentence, the right exit code, and no Python message."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import HUNG_UP, PROJECT_ID, OtherEnd, Respond, refuse
from tests.fakes.messages import Answer, Streamed

pytestmark = pytest.mark.one_database

TOKEN = "berth_of-these-tests"
HTML = b"<html><h1>Bad Gateway</h1></html>"

COMMANDS = {
    "list": ("list",),
    "status": ("status", PROJECT_ID),
    "by name": ("status", "Harbour pilot"),
    "start": ("start", PROJECT_ID),
    "stop": ("stop", PROJECT_ID),
    "restart": ("restart", PROJECT_ID),
    "deploy": ("deploy", "Harbour pilot"),
    "change": ("change", PROJECT_ID, "--name", "Another"),
    "logs": ("logs", PROJECT_ID),
    "logs -f": ("logs", "-f", PROJECT_ID),
    "stats": ("stats", PROJECT_ID),
    "stats since": ("stats", PROJECT_ID, "--since", "1h"),
    "usage": ("usage", PROJECT_ID),
    "usage as CSV": ("usage", PROJECT_ID, "--csv"),
    "update": ("update", PROJECT_ID),
    "rm": ("rm", PROJECT_ID, "--yes"),
    "whoami": ("whoami",),
    "login": ("login", "--email", "alice@example.com", "--password-file", "PASSWORD"),
    "login with a key": ("login", "--key-file", "PASSWORD"),
    "keys": ("keys", "list", "--email", "alice@example.com", "--password-file", "PASSWORD"),
    "keys new": ("keys", "new", "x", "--email", "alice@example.com", "--password-file", "PASSWORD"),
}

TEXTS = {"logs", "logs -f", "usage as CSV"}
"""Any output is correct for these. A followed one must be followed again after an interruption."""


def break_off() -> Iterator[bytes]:
    yield b'[{"id": '
    raise OSError


FAULTS: dict[str, tuple[Respond, str]] = {
    "a bad token": (lambda _: refuse(401, "invalid_token", "The token is not valid."), "The token is not valid."),
    "an unknown project": (lambda _: refuse(404, "not_found", "There is nothing here."), "There is nothing here."),
    "too many requests": (
        lambda _: refuse(429, "throttled", "Too many requests.", Retry_After="90"), "Too many requests."
    ),
    "no engine": (
        lambda _: refuse(503, "engine_unavailable", "The engine is silent.", Retry_After="90"), "The engine is silent."
    ),
    "our own mistake": (lambda _: refuse(500, "internal_error", "Something broke."), "Something broke."),
    "HTML of a proxy": (
        lambda _: Answer(502, HTML, {"Content-Type": "text/html"}), "has answered 502, but not like Berth."
    ),
    "a page in the place of JSON": (lambda _: Answer(200, HTML), "cannot be read"),
    "JSON that is cut off": (lambda _: Answer(200, b'[{"id": "0000'), "cannot be read"),
    "JSON of something else": (lambda _: Answer(200, b'"hello"'), "cannot be read"),
    "another kind of JSON": (lambda _: Answer(200, b'[1, {"a": []}]'), "is not"),
    "a shorter answer than was told": (
        lambda _: Streamed(200, b"", {}, pieces=break_off()), "cut off"
    ),
    "fewer bytes than were told": (
        lambda _: Answer(200, b'[{"id": "0000', {"Content-Length": "5000"}), "cut off"
    ),
    "no bytes where some were told": (lambda _: Answer(201, b"", {"Content-Length": "5000"}), "cut off"),
    "a connection that ends": (lambda _: HUNG_UP, "cut off"),
    "another address": (
        lambda _: Answer(302, b"", {"Location": "http://127.0.0.1:1/"}), "redirects to another address"
    ),
    "a problem that is none": (lambda _: Answer(400, b'{"detail": 5}'), "has answered 400"),
}  # fmt: skip


@pytest.fixture(scope="module")
def other_end() -> Iterator[OtherEnd]:
    with OtherEnd() as server:
        yield server


@pytest.fixture
def told(
    berth: Berth, other_end: OtherEnd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str, Respond | None], tuple[int, str, str]]:
    """Returns what a command says if the installation answers like this."""
    monkeypatch.setattr("berth_cli.api.PATIENCE", 0.0)
    (tmp_path / "password").write_text("of nobody")
    (tmp_path / "key").write_text(TOKEN)

    def run(name: str, respond: Respond | None) -> tuple[int, str, str]:
        other_end.seen.clear()
        other_end.respond = respond
        monkeypatch.setenv("BERTH_URL", other_end.url)
        monkeypatch.setenv("BERTH_TOKEN", TOKEN)
        file = str(tmp_path / ("key" if "key" in name.split() else "password"))
        words = [file if word == "PASSWORD" else word for word in COMMANDS[name]]
        done = berth(*([*words[:1], other_end.url, *words[1:]] if words[0] == "login" else words))
        return done.code, done.out, done.err

    return run


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gives_one_sentence_and_an_exit_code(
    told: Callable[[str, Respond | None], tuple[int, str, str]], fault: str
) -> None:
    respond, sentence = FAULTS[fault]
    for name in COMMANDS:
        if (name in TEXTS and "JSON" in fault) or (name == "logs -f" and "told" in fault):
            continue
        code, out, err = told(name, respond)
        said = [line for line in err.splitlines() if not line.startswith("Checking")]
        assert (code, out) == (1, ""), (name, out, err)
        assert len(said) == 1, (name, err)
        assert said[0].startswith("berth: "), (name, err)
        assert sentence in said[0], (name, err)
