"""What it says that a provider did not answer, and what may help. Pure rules."""

import random
from datetime import datetime

import httpx

from agent_contract import ProblemCode
from assistant.model.heard import StatusError
from assistant.texts import Text
from berth_agent.outcome import Problem
from berth_agent.providers import explain_refusal, problem

Words = tuple[Text, dict[str, object]]
"""A sentence, and what stands in it."""

LONGEST_PAUSE = 60.0  # seconds that a provider may ask to wait before the other try
WINDOW_WORDS = ("context", "too long", "too large", "too many tokens", "token limit", "maximum length")
PASSING = (408, 409, 429)


def refuses_streams(error: Exception) -> bool:
    return isinstance(error, StatusError) and error.status in (400, 422) and '"stream' in error.text


def refuses_tools(error: Exception) -> bool:
    """What is too much for the window may name tools as well: they are part of what was sent."""
    is_refusal = isinstance(error, StatusError) and error.status in (400, 404, 422) and "tool" in error.text.lower()
    return is_refusal and not is_too_much(error)


def may_pass(error: Exception) -> bool:
    if isinstance(error, StatusError):
        return not error.budget and error.should_retry != "false" and (error.status in PASSING or error.status >= 500)
    return not isinstance(error, httpx.ReadTimeout)


def pause_after(error: Exception) -> float:
    """Seconds. As long as the provider asks for, where that is not too long."""
    try:
        wished = float(error.retry_after) if isinstance(error, StatusError) else 0.0
    except ValueError:
        wished = 0.0
    return wished if 0 < wished <= LONGEST_PAUSE else random.uniform(0.4, 0.6)  # noqa: S311 - no secret


def describe(error: Exception) -> str:
    return str(error) if isinstance(error, StatusError) else type(error).__name__


def is_too_much(error: Exception) -> bool:
    """Also where a budget is reached: what is left of it may do for less."""
    if not isinstance(error, StatusError) or error.status not in (400, 413, 422):
        return isinstance(error, StatusError) and bool(error.budget)
    return bool(error.budget) or error.status == 413 or any(sign in error.text.lower() for sign in WINDOW_WORDS)


def explain_budget(error: Exception) -> Words | None:
    """Where Berth's gateway has refused for a budget, and neither the provider nor its account is to blame."""
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
    """What is not a refusal is a lost connection or an unreadable answer."""
    if not isinstance(error, StatusError):
        return problem(ProblemCode.PROVIDER_DOWN)
    return explain_refusal(error.status, error.text)
