"""Reads what agents report of themselves. Agents are untrusted code: what cannot be a report is ignored."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum

from containers.agent_contract import (
    CONTRACT_VERSION,
    LONGEST_CODE,
    LONGEST_DETAIL,
    LONGEST_REPORT,
    STATUS_MARK,
    AgentState,
)
from containers.agent_text import clean
from containers.vocabulary import AgentReport, ContainerState, Health, Observation

MOST_PEOPLE = 1_000_000
"""With whom an agent may say that it is paired."""


class Waits(StrEnum):
    """What an engine of several machines says, in the place of a report, of an agent that is to run and does not."""

    HOME_AWAY = "node_away"
    """It is bound to a machine that has its memory."""
    MOVES = "node_left"
    MOVES_WITHOUT_MEMORY = "node_lost"
    FOR_ROOM = "node_full"


_MARK = STATUS_MARK.encode()
_STATES = frozenset(AgentState)
_HEALTH_OF_REPORTS = {
    AgentState.RUNNING: Health.HEALTHY,
    AgentState.DEGRADED: Health.UNHEALTHY,
    AgentState.FAILED: Health.UNHEALTHY,
}


def parse_report(text: bytes | str) -> AgentReport | None:
    """The report in a status line or in the output of a health probe, or None where it is not one of version 1."""
    raw = text.encode(errors="replace") if isinstance(text, str) else text
    raw = raw.strip().removeprefix(_MARK)
    if not raw.startswith(b"{") or len(raw) > LONGEST_REPORT:
        return None
    try:
        report = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report, dict) or report.get("v") != CONTRACT_VERSION:
        return None
    state = report.get("state")
    if not isinstance(state, str) or state not in _STATES:
        return None
    code = _plain(report.get("code"), LONGEST_CODE)
    return AgentReport(
        state=state,
        code="" if code in frozenset(Waits) else code,
        detail=_plain(report.get("detail"), LONGEST_DETAIL),
        paired=_count(report.get("paired")),
    )


def newest_report(lines: Iterable[bytes], *, since: datetime | None) -> tuple[datetime, AgentReport] | None:
    """The last report and its time, in log lines that begin with their time. Ignores reports older than `since`."""
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


def health_after(report: AgentReport, *, before: Observation) -> Health:
    """The health of a container that has reported since its last health check.

    By the agent contract a check says that an agent is healthy where its report is that it runs, so that the next check
    will say this.
    """
    if before.state is not ContainerState.RUNNING or before.health is Health.NONE:
        return before.health
    return _HEALTH_OF_REPORTS.get(AgentState(report.state), before.health)


def parse_time(text: str) -> datetime | None:
    """The RFC 3339 time in UTC, or None where the text is none, or is the year 1 by which Docker means never."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.year > 1 and at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _count(value: object) -> int | None:
    """The number, where it is one of people that there may be. None for anything else, `true` among it."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_PEOPLE else None


def _plain(value: object, longest: int) -> str:
    """The text as people may see it, cut to `longest`. Empty where the value is not text."""
    return clean(value[: 4 * longest]).strip()[:longest] if isinstance(value, str) else ""
