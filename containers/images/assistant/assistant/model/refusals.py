"""Explains why a provider did not answer, and whether a retry or a shorter request may help. Pure functions."""

import random
from datetime import datetime

import httpx

from agent_contract import ProblemCode
from assistant.model.completion import StatusError
from assistant.texts import Text
from berth_agent.outcome import Problem
from berth_agent.providers import explain_refusal, problem

Notice = tuple[Text, dict[str, object]]
"""A sentence for the user, and the values for its placeholders."""

LONGEST_RETRY_PAUSE = 60.0  # seconds; a provider's longer `retry-after` is ignored
TOO_LARGE_SIGNS = ("context", "too long", "too large", "too many tokens", "token limit", "maximum length")
TRANSIENT_STATUSES = (408, 409, 429)


def refuses_streams(error: Exception) -> bool:
    return isinstance(error, StatusError) and error.status in (400, 422) and '"stream' in error.text


def refuses_tools(error: Exception) -> bool:
    """Returns whether the model supports no tools. An error about the context window may mention tools too, because
    their descriptions count towards it.
    """
    is_refusal = isinstance(error, StatusError) and error.status in (400, 404, 422) and "tool" in error.text.lower()
    return is_refusal and not is_too_large(error)


def is_transient(error: Exception) -> bool:
    if isinstance(error, StatusError):
        return (
            not error.budget
            and error.should_retry != "false"
            and (error.status in TRANSIENT_STATUSES or error.status >= 500)
        )
    return not isinstance(error, httpx.ReadTimeout)


def pause_after(error: Exception) -> float:
    """Returns how many seconds to wait before a retry: as long as the provider asks for, unless that is too long."""
    try:
        wished = float(error.retry_after) if isinstance(error, StatusError) else 0.0
    except ValueError:
        wished = 0.0
    return wished if 0 < wished <= LONGEST_RETRY_PAUSE else random.uniform(0.4, 0.6)  # noqa: S311 - no secret


def describe(error: Exception) -> str:
    return str(error) if isinstance(error, StatusError) else type(error).__name__


def is_too_large(error: Exception) -> bool:
    """Returns whether a shorter request may be accepted. Also true for a budget: its rest may suffice for one."""
    if not isinstance(error, StatusError) or error.status not in (400, 413, 422):
        return isinstance(error, StatusError) and bool(error.budget)
    return bool(error.budget) or error.status == 413 or any(sign in error.text.lower() for sign in TOO_LARGE_SIGNS)


def explain_budget(error: Exception) -> Notice | None:
    """Returns the sentence for a refusal by Berth's gateway because of a budget. Returns None for other errors."""
    if not isinstance(error, StatusError) or not error.budget:
        return None
    if error.status == 413:
        return Text.BUDGET_SHORT, {}
    try:
        day = datetime.fromisoformat(error.resets).date().isoformat()
    except ValueError:
        return None
    return Text.BUDGET_REACHED, {"day": day}


def explain(error: Exception) -> Problem | None:
    """Returns the problem to report, or None if only this message was refused. Errors other than StatusError are lost
    connections or unreadable answers.
    """
    if not isinstance(error, StatusError):
        return problem(ProblemCode.PROVIDER_DOWN)
    return explain_refusal(error.status, error.text)
