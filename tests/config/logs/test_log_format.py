"""Log lines can be read by people or by programs, and contain no credential."""

import json
import logging
import time
from uuid import UUID

import pytest

from config.logs.access import log_access
from config.logs.formatting import JsonFormatter, TextFormatter, redact
from containers.agent_contract import redact_credentials

SECRETS = [
    "123456789:AAabcdefghijklmnopqrstuvwxyz012345678",
    "berth_" + "a1B2" * 11 + "zz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "sk-ant-" + "a1" * 12,
    "sk-or-v1-0123456789abcdef",
]


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("berth.tests", logging.INFO, __file__, 1, message, args, exc_info)
    made.request_id = "the-id"
    return made


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "https://example.org/{}/getMe", "key={}, next", "Bearer {}"])
def test_text_that_looks_like_a_credential_is_redacted(secret: str, around: str) -> None:
    line = redact_credentials(around.format(secret))
    assert secret not in line
    assert "[redacted]" in line


def test_the_password_of_a_url_is_redacted() -> None:
    assert redact_credentials("postgresql://berth:hunter2@db/x") == "postgresql://[redacted]@db/x"


@pytest.mark.parametrize(
    "line",
    [
        "POST /api/projects 201 12.5 ms",
        "http://127.0.0.1:8000/api",
        "2026-11-20T23:05:33.833Z",
        "disk-usage-of-all-agents",
    ],
)
def test_everything_else_is_left_alone(line: str) -> None:
    assert redact_credentials(line) == line


PIECES = (
    *("1", "1234567:", "eyJ", "eyJabcdefghij", "eyJabcdefghij.", "://", "://a:", "bearer ", "berth_", "sk-", "Sk-"),
    *("a", "-", ".", "%3A", "1:", "*", "sk-abc", "https://a:b", "@", " ", "\N{LATIN SMALL LETTER E WITH ACUTE}", "_"),
)
"""What the patterns look for, and what surrounds it."""


def seconds_for(text: str) -> float:
    """Returns the shortest of three measurements, for this process only."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        redact_credentials(text)
        spent.append(time.process_time() - began)
    return min(spent)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("after", ["", *PIECES])
@pytest.mark.parametrize("piece", PIECES)
def test_the_time_is_proportional_to_the_length(piece: str, after: str) -> None:
    """Strangers choose the text: a Host of 7,000 digits once took a third of a second.

    A text of 16 times the length takes 16 times as long, and not 256 times, as it would if each character started
    another search.
    """
    text = piece + after
    short, long = (text * (length // len(text)) for length in (2_000, 32_000))
    assert seconds_for(long) < 80 * max(seconds_for(short), 0.0002)


@pytest.mark.parametrize("before", ["bot", "123456", "a.b.", "x-", "sk-abc", "eyJa.", "eyJ", "sk-abcdefghijklmn"])
def test_text_directly_before_a_jwt_does_not_hide_it(before: str) -> None:
    header, _, signature = SECRETS[2].split(".")
    line = redact_credentials(f"token {before}{SECRETS[2]} end")
    assert header not in line
    assert signature not in line
    assert line.endswith(" end")


def test_a_json_line_has_the_message_and_the_request() -> None:
    line = json.loads(JsonFormatter().format(record("%s\nand %s", "one", "two")))
    assert (line["message"], line["request_id"], line["level"]) == ("one\nand two", "the-id", "info")
    assert line["at"].endswith("Z")


def test_a_json_audit_line_separates_the_event_from_its_facts() -> None:
    made = record("key_issued user=%s days=%s", "0d1f", 90)
    made.event, made.facts = "key_issued", {"user": UUID(int=1), "days": 90, "note": f"of {SECRETS[1]}", "by": None}

    line = json.loads(JsonFormatter().format(made))
    assert line["event"] == "key_issued"
    assert line["facts"] == {"user": str(UUID(int=1)), "days": 90, "note": "of [redacted]", "by": None}


def test_no_field_of_a_json_line_holds_a_credential() -> None:
    """The path once did: clients put keys and tokens into addresses, and into the id that they choose for a request."""
    for secret in SECRETS:
        made = record("GET %s", secret)
        for name in ("request_id", "method", "path", "event"):
            setattr(made, name, f"/{secret}/getMe")
        made.status, made.ms, made.facts = 404, 1.5, {"one": [secret], "two": {"three": f"/{secret}"}}
        line = JsonFormatter().format(made)
        assert secret not in line
        assert line.count("[redacted]") == 7
        assert json.loads(line)["status"] == 404


LINK_TOKEN = "diflw7-9e46cac05af20c24dd568b11e778aa67"


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter("{request_id} {message}", style="{")])
@pytest.mark.parametrize("path", ["/set-password/OGY3/{}", "/set-password/OGY3/{}/", "//{}.", "/x%2F{}%20", "/a/{}a"])
def test_the_token_of_a_link_is_redacted(formatter: logging.Formatter, path: str) -> None:
    line = formatter.format(record(f"Forbidden: {path.format(LINK_TOKEN)}"))
    assert LINK_TOKEN not in line
    assert "[redacted]" in line


def test_text_that_only_resembles_a_credential_is_left_alone() -> None:
    for innocent in ("/projects/9e46cac0-5af2-4c24-9d56-8b11e778aa67/control", f"berth-{LINK_TOKEN[7:]}", "/a-b/c"):
        assert redact(innocent) == innocent


def test_a_line_that_is_no_audit_has_no_facts() -> None:
    assert not {"event", "facts"} & json.loads(JsonFormatter().format(record("hello"))).keys()


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter("{request_id} {message}", style="{")])
def test_a_traceback_is_kept_without_its_credentials(formatter: logging.Formatter) -> None:
    line = formatter.format(record("broke", error=ValueError(f"cannot reach /bot{SECRETS[0]}/getMe")))
    assert "ValueError: cannot reach /bot[redacted]/getMe" in line
    assert SECRETS[0] not in line


def test_the_parts_of_an_access_line_are_redacted_separately(caplog: pytest.LogCaptureFixture) -> None:
    """No matter which part contains the credential, and how often it comes: a harmless part is remembered."""
    caplog.set_level(logging.DEBUG)
    for secret in (*SECRETS, *SECRETS):
        for fields in ({"path": f"/x/{secret}"}, {"request_id": secret, "is_our_id": False}, {"method": secret}):
            sent = {"method": "GET", "path": "/api/projects", "request_id": "a" * 32, "is_our_id": True, **fields}
            log_access(status=200, milliseconds=1.0, **sent)  # type: ignore[arg-type]  # of several types
    formats = (TextFormatter("{request_id} {message}", style="{"), JsonFormatter())
    lines = [each.format(record) for record in caplog.records for each in formats]
    assert len(lines) == len(SECRETS) * 12
    assert [line for line in lines for secret in SECRETS if secret in line or "[redacted]" not in line] == []
