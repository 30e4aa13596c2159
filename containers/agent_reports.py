"""What agents say of themselves: `AGENT-STATUS` lines. Written by code that we do not trust, so read with care."""

import json
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from containers.agent_contract import (
    CONTRACT_VERSION,
    LONGEST_CODE,
    LONGEST_DETAIL,
    LONGEST_REPORT,
    STATUS_MARK,
    AgentState,
)
from containers.engine import AgentReport

_MARK = STATUS_MARK.encode()
_STATES = frozenset(AgentState)


def parse_report(text: bytes | str) -> AgentReport | None:
    """The report in the JSON of a status line or a health probe; None where it is not one of version 1."""
    raw = text.encode(errors="replace") if isinstance(text, str) else text
    raw = raw.strip().removeprefix(_MARK)
    if not raw.startswith(b"{") or len(raw) > LONGEST_REPORT:
        return None
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("v") != CONTRACT_VERSION:
        return None
    state = said.get("state")
    if not isinstance(state, str) or state not in _STATES:
        return None
    return AgentReport(
        state=state,
        code=_plain(said.get("code"), LONGEST_CODE),
        detail=_plain(said.get("detail"), LONGEST_DETAIL),
    )


def newest_report(lines: Iterable[bytes], *, since: datetime | None) -> tuple[datetime, AgentReport] | None:
    """The last report, with its time, in log lines that begin with theirs; older than `since` is of another run."""
    newest = None
    for line in lines:
        stamp, _, text = line.partition(b" ")
        if not text.startswith(_MARK):
            continue
        at = parse_time(stamp.decode(errors="replace"))
        report = parse_report(text)
        if at and report and (since is None or at >= since):
            newest = at, report
    return newest


def parse_time(text: str) -> datetime | None:
    """An RFC 3339 time; None for an unreadable one and for the zero with which Docker says never."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.year > 1 and at.tzinfo else None


def _plain(value: object, longest: int) -> str:
    """Text without control and formatting characters, cut to its limit; anything but text is nothing."""
    if not isinstance(value, str):
        return ""
    shown = (" " if character.isspace() else character for character in value[: 4 * longest] if _is_shown(character))
    return "".join(shown).strip()[:longest]


def _is_shown(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] != "C"
