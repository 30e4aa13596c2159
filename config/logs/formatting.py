"""Formats log lines, and removes credentials from every line."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from containers.agent_contract import REDACTED, redact_credentials
from containers.agent_text import clean

IS_REDACTED = "is_redacted"
"""Marks a record whose message, fields and request id have been searched for credentials already."""

_ACCESS_FIELDS = ("method", "path", "status", "ms")
_AUDIT_FIELDS = ("event", "facts")
# The token of a set-password link. Libraries log whole paths, and a link with one character too many matches no route.
_LINK_TOKEN = re.compile(r"(?:(?<![0-9A-Za-z])|(?<=%2[Ff]))[0-9A-Za-z]{6,7}-[0-9A-Fa-f]{32}")


class TextFormatter(logging.Formatter):
    """Formats a line for people. What it quotes from elsewhere cannot begin a line of its own or command a terminal."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own
        return _moment(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own
        record.message = clean(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own
        return _indent(super().formatException(ei))

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return line if getattr(record, IS_REDACTED, False) else redact(line)


class JsonFormatter(logging.Formatter):
    """Formats one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        plain = _as_it_is if getattr(record, IS_REDACTED, False) else _plain
        line: dict[str, object] = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": plain(record.getMessage()),
            "request_id": plain(getattr(record, "request_id", "-")),
        }
        line |= {name: plain(getattr(record, name)) for name in _ACCESS_FIELDS if hasattr(record, name)}
        line |= {name: _plain(getattr(record, name)) for name in _AUDIT_FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = redact(_indent(self.formatException(record.exc_info)))
        return json.dumps(line, default=str)


def redact(text: str) -> str:
    """Returns the text without anything that looks like a credential or like the token of a set-password link."""
    return _LINK_TOKEN.sub(REDACTED, redact_credentials(text))


def _plain(value: object) -> object:
    """Keeps names and numbers as they are, because programs read this line, and cleans and redacts the texts.

    Cleans first: a credential could hide behind a character that is then removed.
    """
    if isinstance(value, dict):
        return {str(name): _plain(fact) for name, fact in value.items()}
    return value if value is None or isinstance(value, int | float) else redact(_clean_lines(str(value)))


def _indent(traceback: str) -> str:
    """Returns a traceback, which may quote text from elsewhere, so that none of its lines looks like one of the log."""
    return "\n".join(f"  {line}" for line in _clean_lines(traceback).split("\n"))


def _clean_lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _as_it_is(value: object) -> object:
    return value


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
