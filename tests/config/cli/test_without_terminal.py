"""What nobody can be asked for: the sentence names what to type instead."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import OtherEnd
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database

TOKEN = {"field": "telegramToken", "detail": "This field is required.", "code": "required"}
KEY = {"field": "apiKey", "detail": "This field is required.", "code": "required"}
NAME = {"field": "name", "detail": "This name is too long.", "code": "max_length"}


@pytest.fixture
def other_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherEnd]:
    for name in ("BERTH_TELEGRAM_TOKEN", "BERTH_PROVIDER_KEY"):
        monkeypatch.delenv(name, raising=False)
    with OtherEnd() as server:
        monkeypatch.setenv("BERTH_URL", server.url)
        monkeypatch.setenv("BERTH_TOKEN", "berth_x")
        yield server


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("login",), "Use `berth login URL`."),
        (("login", "https://berth.example.org"), "Use --email."),
        (("login", "https://berth.example.org", "--email", "a@example.org"), "Use --password-file."),
        (("keys", "list"), "Use --email."),
        (("keys", "new", "x", "--email", "a@example.org"), "Use --password-file."),
    ],
)
@pytest.mark.usefixtures("other_end")
def test_each_question_names_what_to_type_instead(berth: Berth, words: tuple[str, ...], instead: str) -> None:
    """It said “Use it.”"""
    done = berth(*words)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(rf"berth: There is no terminal to ask for “[^”]+”\. {re.escape(instead)}\n", done.err)


@pytest.mark.parametrize(
    ("errors", "words", "told"),
    [
        ([TOKEN], (), "Use --telegram-token-file FILE (or BERTH_TELEGRAM_TOKEN)."),
        ([KEY], (), "Use --api-key-file FILE (or BERTH_PROVIDER_KEY)."),
        (
            [TOKEN, NAME, KEY], (),
            "Use --telegram-token-file FILE (or BERTH_TELEGRAM_TOKEN) and --api-key-file FILE (or BERTH_PROVIDER_KEY).",
        ),
        ([NAME], (), ""),
        ([KEY], ("--api-key-file", "SECRET"), ""),
        ("not a list", (), ""),
        ([None, "text", {"field": ["apiKey"]}], (), ""),
    ],
)  # fmt: skip
def test_a_refused_deploy_names_the_options_of_missing_secrets(
    berth: Berth, other_end: OtherEnd, home: Path, errors: object, words: tuple[str, ...], told: str
) -> None:
    problem = {"status": 400, "detail": "The request is not valid.", "code": "invalid", "errors": errors}
    other_end.respond = lambda _: Answer.json(400, problem)
    (secret := home / "secret").write_text("sk-secret")
    done = berth("deploy", "x", *(str(secret) if word == "SECRET" else word for word in words))
    assert done.code == 1
    assert done.err.endswith(f" {told}\n") if told else "Use --" not in done.err
