"""Reads agents' reports. Agents are untrusted code: anything that is not a valid report is ignored."""

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
"""The largest number of paired people that an agent may report."""


class Waits(StrEnum):
    """Why an engine with several machines does not run an agent that should run. It takes the place of a report."""

    HOME_AWAY = "node_away"
    """The machine that has its memory is away, and the agent cannot run on another one."""
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
    """Returns the report in a status line or in a health check's output, or None if it is no report of version 1."""
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
    """Returns the last report in these log lines and its time, or None if there is none.

    Each line begins with its time. Reports older than `since` are ignored.
    """
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
    """Returns the health of a container that has reported since its last health check.

    By the agent contract, a health check passes if the agent reports that it runs, so the next check will agree.
    """
    if before.state is not ContainerState.RUNNING or before.health is Health.NONE:
        return before.health
    return _HEALTH_OF_REPORTS.get(AgentState(report.state), before.health)


def parse_time(text: str) -> datetime | None:
    """Returns the RFC 3339 time in UTC, or None if the text is not a time or has the year 1, Docker's "never"."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.year > 1 and at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _count(value: object) -> int | None:
    """Returns the value if it is a plausible number of people, or None for anything else, including `true`."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_PEOPLE else None


def _plain(value: object, longest: int) -> str:
    """Returns the text made safe to show and cut to `longest` characters. Empty if the value is not text."""
    return clean(value[: 4 * longest]).strip()[:longest] if isinstance(value, str) else ""
