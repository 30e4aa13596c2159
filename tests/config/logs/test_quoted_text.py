"""What a line of the log quotes from elsewhere stays text, begins no line of its own, and hides no credential."""

import json
import logging
import sys
from typing import Any

import pytest

from config.logs.formatting import JsonFormatter, TextFormatter
from tests.security.test_agent_text import KINDS

FORMATTERS = (TextFormatter("{message}", style="{"), JsonFormatter())
FORGED = "\n2026-01-01T00:00:00.000Z WARNING berth: forged"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formatter", FORMATTERS, ids=["text", "json"])
def test_no_character_that_hides_something_is_logged(formatter: logging.Formatter, kind: str) -> None:
    for error in (None, ValueError(f"broke harb{KINDS[kind]}our")):
        lines = formatter.format(record("It said: %s", f"harb{KINDS[kind]}our", error=error)).split("\n")
        assert "harb" in lines[0]
        assert all(line.isprintable() for line in lines)
        if isinstance(formatter, JsonFormatter):
            told = json.loads(lines[0])
            texts = [told["message"], told.get("exception", "")]
            assert all(line.isprintable() for text in texts for line in text.split("\n"))


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["text", "json"])
def test_nothing_that_is_quoted_begins_a_line_of_the_log(formatter: logging.Formatter) -> None:
    first, *others = formatter.format(record("It said: %s", FORGED, error=ValueError(FORGED))).split("\n")
    assert "forged" in first
    assert all(line.startswith("  ") for line in others)


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["text", "json"])
def test_a_credential_does_not_hide_behind_what_is_removed(formatter: logging.Formatter) -> None:
    secret = "sk-ant-api03-" + "x" * 40
    line = formatter.format(record("It said: %s", f"{secret[:12]}\u200b{secret[12:]}"))
    assert secret not in line
    assert "[redacted]" in line


def record(message: str, *values: object, error: Exception | None = None) -> logging.LogRecord:
    info: Any = None
    if error is not None:
        try:
            raise error
        except ValueError:
            info = sys.exc_info()
    return logging.LogRecord("berth.x", logging.WARNING, __file__, 1, message, values, info)
