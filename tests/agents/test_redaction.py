"""One pattern finds credentials in the service's log lines, in the logs that it serves and in agents' output."""

import logging
from collections.abc import Callable

import pytest

from config.logs.formatting import TextFormatter
from projects.credentials.redaction import Redactor

CREDENTIALS = [
    "123456789:AAabcdefghijklmnopqrstuvwxyz012345678",
    "123456%3AAAabcdefghijklmnopqrst",
    "123456%3aAAabcdefghijklmnopqrst",
    "berth_" + "a1B2" * 11 + "zz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "sk-ant-" + "a1" * 12,
    "sk-or-v1-0123456789abcdef",
    "sk-proj_0123456789",
    "SK-0123456789abcdef",
    "sk-abcde***wxyz",
]
LEFT_ALONE = [
    "",
    "POST /api/projects 201 12.5 ms",
    "http://127.0.0.1:8000/api",
    "2026-11-20T23:05:33.833Z",
    "disk-usage-of-all-agents",
    "ask-me and task-force",
    "bot 987654321 started",
    "the locale is sk-SK",
    'WWW-Authenticate: Bearer realm="berth"',
    "berth_network is up",
    "12:34:56 ratio 1234567:1",
]


def in_a_line_of_the_service(text: str) -> str:
    return TextFormatter("%(message)s").format(logging.LogRecord("x", logging.INFO, "", 0, "%s", (text,), None))


def in_the_log_that_is_served(text: str) -> str:
    return Redactor([]).redact(text)


def in_what_an_agent_writes(text: str) -> str:
    from berth_agent.redaction import Redactor

    return Redactor().clean(text)


everywhere = pytest.mark.parametrize(
    "redacted", [in_a_line_of_the_service, in_the_log_that_is_served, in_what_an_agent_writes]
)


@everywhere
@pytest.mark.parametrize("credential", CREDENTIALS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key={}, next",
        "(see {})",
        '{{"key":"{}"}}',
        "https://example.org/bot{}/getMe",
        "https://x.org/?key={}&y=1",
    ],
)
def test_a_credential_is_redacted_and_the_text_around_it_stays(
    redacted: Callable[[str], str], around: str, credential: str
) -> None:
    if credential.lower().startswith("sk-") and "bot{" in around:
        around = "https://example.org/{}/getMe"  # no key follows a letter
    assert redacted(around.format(credential)) == around.format("[redacted]")


@everywhere
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://berth:hunter2@db/x", "postgresql://[redacted]@db/x"),
        ("https://sk-abcdef:hunter2@host/", "https://[redacted]@host/"),
        ("Authorization: Bearer anything.at-all", "Authorization: Bearer [redacted]"),
        ("bearer sk-abcdef.rest-of-it", "bearer [redacted]"),
        ("sk-123456789:AAabcdefghijklmnopqrstuvwxyz", "[redacted]"),
        ("berth_0123456789abcdefsk-0123456789abcdef", "[redacted]"),
    ],
)
def test_adjacent_credentials_are_redacted_whole(redacted: Callable[[str], str], text: str, expected: str) -> None:
    assert redacted(text) == expected


@everywhere
@pytest.mark.parametrize("text", LEFT_ALONE)
def test_ordinary_text_is_left_alone(redacted: Callable[[str], str], text: str) -> None:
    assert redacted(text) == text
