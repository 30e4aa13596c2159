"""What a line of an agent's log says: its moment, how bad it is, and its text for people.

Agents print what they like. A line that begins with another moment loses it, since the engine notes one for each; a
report of the agent's state is told as a sentence; and a line in JSON is told by its message.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from containers.agent_contract import STATUS_MARK, AgentState
from containers.agent_reports import parse_report, parse_time
from containers.vocabulary import AgentReport
from projects.rules.event_sentences import tell_reason


class Level(StrEnum):
    """How bad a line is. A line that does not say so goes on with what the line before it said."""

    INFO = "info"
    STATUS = "status"
    WARNING = "warning"
    ERROR = "error"


class LogLine(NamedTuple):
    """`stamp` is the moment as the engine wrote it, to the nanosecond; `at` is None where the line has none."""

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
"""Characters, levels and the number up to which a line in JSON is read."""

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
    """Of a line as `read_logs` yields it, with the engine's moment in front where it has one."""
    stamp, _, printed = line.partition(" ")
    at = parse_time(stamp)
    if at is None:
        stamp, printed = "", line
    return LogLine(stamp, at, *_tell(printed))


def read_lines(lines: Iterable[str]) -> list[LogLine]:
    """Each line with a level: its own, or that of the line which it goes on with."""
    told: list[LogLine] = []
    level = Level.INFO
    for line in map(read_line, lines):
        goes_on = line.level is None and line.text[:1] in {"", " ", "\t"}
        level = line.level or (level if goes_on or level is Level.ERROR else Level.INFO)
        told.append(line._replace(level=level))
    return told


def _tell(printed: str) -> tuple[Level | None, str]:
    if printed.startswith(STATUS_MARK):
        report = parse_report(printed)
        return _tell_report(report) if report else (Level.STATUS, "A report that Berth cannot read")
    text = printed[match.end() :] if (match := _OWN_MOMENT.match(printed)) else printed
    if text.startswith("{") and (fields := _read_json(text)):
        return _tell_fields(fields)
    if text.startswith(_TRACEBACK):
        return Level.ERROR, text
    if named := _NAMED_LEVEL.match(text):
        return _LEVELS[named[1].lower()], text[named.end() :]
    return None, text


def _tell_report(report: AgentReport) -> tuple[Level, str]:
    sentence, level = _STATES[AgentState(report.state)]
    reason = tell_reason(report.code) or report.code.replace("_", " ")
    parts = [part.rstrip(".") for part in (reason, report.detail) if part]
    if report.paired is not None and level is Level.STATUS and not parts:
        parts = [f"{report.paired or 'nobody'} paired"]
    return level, ": ".join([sentence, ". ".join(parts)]) if parts else sentence


def _read_json(text: str) -> Mapping[str, Any]:
    """Empty where it is no object of JSON."""
    if len(text) > _LONGEST_JSON:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _tell_fields(fields: Mapping[str, Any]) -> tuple[Level | None, str]:
    """Such as `Answered in 1.2 s, 310 tokens`, and what else there is behind it."""
    level = next((str(fields[name]).lower() for name in _NAMES_OF_LEVEL if name in fields), "")
    message = next((fields[name] for name in _MESSAGES if isinstance(fields.get(name), str)), "")
    left = {
        name: value
        for name, value in fields.items()
        if name not in {*_MESSAGES, *_NAMES_OF_LEVEL, *_MOMENTS} and value not in (None, "")
    }
    text = message[:1].upper() + message[1:]
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
    """A value without the marks of JSON. What lies deeper than people read is left out."""
    if isinstance(value, dict | list) and deep == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return "; ".join(f"{name} {_plain(inner, deep=deep + 1)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(inner, deep=deep + 1) for inner in value)
    return str(value)
