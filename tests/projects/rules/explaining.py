"""Explains facts with the evidence that a test gives."""

from typing import Any

from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.reasons import explain


def reason_of(known: Facts, **seen: Any) -> Any:
    evidence: dict[str, Any] = {"failure_code": "", "agent_code": "", "oom_killed": False, "crash_count": 0} | seen
    return explain(derive_status(known), known, **evidence)


def code_of(known: Facts, **seen: Any) -> str | None:
    reason = reason_of(known, **seen)
    return reason.code if reason else None
