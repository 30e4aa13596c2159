"""The formats of log lines, and what is cut out of every line."""

import json
import logging
from datetime import UTC, datetime

from containers.agent_contract import redact_credentials

_ACCESS_FIELDS = ("method", "path", "status", "ms")
_AUDIT_FIELDS = ("event", "facts")


class TextFormatter(logging.Formatter):
    """A line for people."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own
        return _moment(record)

    def format(self, record: logging.LogRecord) -> str:
        return redact_credentials(super().format(record))


class JsonFormatter(logging.Formatter):
    """One JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact_credentials(record.getMessage()),
            "request_id": getattr(record, "request_id", "-"),
        }
        line |= {name: getattr(record, name) for name in _ACCESS_FIELDS if hasattr(record, name)}
        line |= {name: _plain(getattr(record, name)) for name in _AUDIT_FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = redact_credentials(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


def _plain(value: object) -> object:
    """Keeps names and numbers as they are, because programs read this line, and redacts the texts."""
    if isinstance(value, dict):
        return {str(name): _plain(fact) for name, fact in value.items()}
    return value if value is None or isinstance(value, int | float) else redact_credentials(str(value))


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
