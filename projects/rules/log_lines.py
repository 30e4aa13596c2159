"""Reads a line of an agent's log: its time, its level and a text for people.

Agents print lines in any format. A timestamp at the beginning is removed because the engine adds its own; a status
report becomes a sentence; and a JSON line is shown by its message. What the escapes of JSON stand for is made safe to
show here, because `read_logs` cleans a line before they are decoded.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from containers.agent_contract import STATUS_MARK, AgentState
from containers.agent_reports import parse_report, parse_time
from containers.agent_text import clean
from containers.vocabulary import AgentReport
from projects.rules.event_sentences import describe_reason
from projects.rules.status.reasons import REPORTED_CODES


class Level(StrEnum):
    """The level of a line. A line without one may continue the line before it, and then has that line's level."""

    INFO = "info"
    STATUS = "status"
    WARNING = "warning"
    ERROR = "error"


class LogLine(NamedTuple):
    """`stamp` is the engine's timestamp to the nanosecond. `at` is None if the line has no timestamp."""

    stamp: str
    at: datetime | None
    level: Level | None
    text: str


_OWN_MOMENT = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?\]?[ \t:|-]*")
_NAMED_LEVEL = re.compile(r"[\[<(]?(DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)[\])>]?(?:[:| \t]+|$)")
_LEVELS = {
    **dict.fromkeys(("trace", "debug", "info", "notice"), Level.INFO),
    **dict.fromkeys(("warn", "warning"), Level.WARNING),
    **dict.fromkeys(("error", "err", "critical", "fatal", "panic"), Level.ERROR),
}
_TRACEBACK = "Traceback (most recent call last):"
_LONGEST_JSON, _DEEPEST, _LARGEST = 4096, 3, 10**12
"""Limits for JSON lines: their characters, the levels of nesting that are shown, and the largest duration or count."""

_STATES = {
    AgentState.STARTING: ("Getting ready", Level.STATUS),
    AgentState.RUNNING: ("Ready", Level.STATUS),
    AgentState.DEGRADED: ("In trouble", Level.WARNING),
    AgentState.FAILED: ("Given up", Level.ERROR),
    AgentState.STOPPED: ("Stopped", Level.STATUS),
}

_MESSAGES, _NAMES_OF_LEVEL = ("message", "msg", "event", "text"), ("level", "severity", "levelname", "lvl")
_MOMENTS = frozenset({"time", "timestamp", "ts", "at", "asctime", "@timestamp", "v"})
_SECONDS = {"seconds": 1.0, "duration": 1.0, "duration_s": 1.0, "ms": 0.001, "duration_ms": 0.001}


def read_line(line: str) -> LogLine:
    """Reads a line as `read_logs` yields it: usually with the engine's timestamp first."""
    stamp, _, printed = line.partition(" ")
    at = parse_time(stamp)
    if at is None:
        stamp, printed = "", line
    level, text = _read_text(printed)
    return LogLine(stamp, at, level, clean(text))


def read_lines(lines: Iterable[str]) -> list[LogLine]:
    """Reads lines and gives each a level: its own, or that of the line that it continues.

    Lines after an error also count as errors until a line has a level of its own.
    """
    found: list[LogLine] = []
    level = Level.INFO
    for line in map(read_line, lines):
        goes_on = line.level is None and line.text[:1] in {"", " ", "\t"}
        level = line.level or (level if goes_on or level is Level.ERROR else Level.INFO)
        found.append(line._replace(level=level))
    return found


def _read_text(printed: str) -> tuple[Level | None, str]:
    if printed.startswith(STATUS_MARK):
        report = parse_report(printed)
        return _read_report(report) if report else (Level.STATUS, "A report that Berth cannot read")
    text = printed[match.end() :] if (match := _OWN_MOMENT.match(printed)) else printed
    if text.startswith("{") and (fields := _read_json(text)):
        return _read_fields(fields)
    if text.startswith(_TRACEBACK):
        return Level.ERROR, text
    if named := _NAMED_LEVEL.match(text):
        return _LEVELS[named[1].lower()], text[named.end() :]
    return None, text


def _read_report(report: AgentReport) -> tuple[Level, str]:
    sentence, level = _STATES[AgentState(report.state)]
    reason = describe_reason(report.code) if report.code in REPORTED_CODES else ""
    reason = reason or report.code.replace("_", " ")
    parts = [part.rstrip(".") for part in (reason, report.detail) if part]
    if report.paired is not None and level is Level.STATUS and not parts:
        parts = [f"{report.paired or 'nobody'} paired"]
    return level, ": ".join([sentence, ". ".join(parts)]) if parts else sentence


def _read_json(text: str) -> Mapping[str, Any]:
    """Returns the JSON object in the text, or an empty one if there is none."""
    if len(text) > _LONGEST_JSON:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_fields(fields: Mapping[str, Any]) -> tuple[Level | None, str]:
    """Returns the level and a text like `Answered in 1.2 s, 310 tokens`, followed by all other fields."""
    level = next((str(fields[name]).lower() for name in _NAMES_OF_LEVEL if name in fields), "")
    message = next((fields[name] for name in _MESSAGES if isinstance(fields.get(name), str)), "")
    left = {
        name: value
        for name, value in fields.items()
        if name not in {*_MESSAGES, *_NAMES_OF_LEVEL, *_MOMENTS} and value not in (None, "")
    }
    text = clean(message)
    text = text[:1].upper() + text[1:]
    for name in [name for name in _SECONDS if _is_count(left.get(name))][:1]:
        text = f"{text} in {left.pop(name) * _SECONDS[name]:.3g} s".strip()
    parts = [text] if text else []
    if _is_count(left.get("tokens")):
        parts.append(f"{left.pop('tokens'):,} tokens")
    parts += [f"{name}: {_plain(value)}" for name, value in left.items()]
    return _LEVELS.get(level), ", ".join(parts)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _plain(value: Any, *, deep: int = 0) -> str:
    """Formats a value without JSON punctuation. Replaces values below the deepest level with “…”."""
    if isinstance(value, dict | list) and deep == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return "; ".join(f"{name} {_plain(inner, deep=deep + 1)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(inner, deep=deep + 1) for inner in value)
    return str(value)
