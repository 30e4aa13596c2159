"""How log lines look, and what never stands in them."""

import json
import logging
import re
from datetime import UTC, datetime

_CREDENTIALS = re.compile(
    r"""
      \d{6,}:[A-Za-z0-9_-]{20,}                       # a Telegram bot token, alone or in a URL
    | berth_[0-9A-Za-z]{16,}                          # an API key of ours
    | eyJ[\w-]{8,}\.[\w-]+\.[\w-]+                    # a JWT
    | (?<![a-z])sk-[A-Za-z0-9_-]{12,}                 # a provider's key
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)                 # user and password in a URL
    | (?i:(?<=bearer\ ))(?!realm|error)[^\s"',]{8,}   # whatever a client sent as its token
    """,
    re.VERBOSE,
)
_ACCESS_FIELDS = ("method", "path", "status", "ms")
_AUDIT_FIELDS = ("event", "facts")


def redact(text: str) -> str:
    """The text without anything that looks like a credential. The last line of defence, not the first."""
    return _CREDENTIALS.sub("[redacted]", text)


class TextFormatter(logging.Formatter):
    """A line for people."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own
        return _moment(record)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """One JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
            "request_id": getattr(record, "request_id", "-"),
        }
        line |= {name: getattr(record, name) for name in _ACCESS_FIELDS if hasattr(record, name)}
        line |= {name: _plain(getattr(record, name)) for name in _AUDIT_FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


def _plain(value: object) -> object:
    """For a program that reads the line: facts keep their names, numbers stay numbers."""
    if isinstance(value, dict):
        return {str(name): _plain(fact) for name, fact in value.items()}
    return value if value is None or isinstance(value, int | float) else redact(str(value))


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
