"""Decides what a failed call says about the engine as a whole."""

from collections.abc import Callable
from typing import Any

from containers.docker_api.circuit_breaker import CircuitBreaker
from containers.docker_api.errors import EngineFailedError, is_timeout, is_unreachable, translate_errors
from containers.errors import EngineError, EngineUnavailableError
from containers.outbound.call_limits import size_limit, time_of_its_own

LIST_WITHIN, LIST_SIZE = 1.0, 1024 * 1024
"""Seconds and bytes for a list of one container, before an engine counts as silent that did not answer another call."""


def note_failure(
    breaker: CircuitBreaker,
    error: EngineError,
    began: float,
    *,
    is_cut_short: bool,
    may_time_out: bool,
    about_one: bool,
    get_client: Callable[[], Any] | None,
) -> None:
    """Notes the failure of a call admitted at `began`, which the caller described in `Connection.call`.

    An engine may never answer about its networks or volumes, or never create anything, and yet do everything else.
    Before the breaker opens because of timeouts, the client of `get_client` therefore asks for the list, on which all
    commands depend. Reads, which ask for little else, do without it.
    """
    is_silent = isinstance(error, EngineUnavailableError) and not isinstance(error, EngineFailedError)
    cause = error.__cause__ or error
    has_timed_out = is_silent and is_timeout(cause)
    if is_silent and ((has_timed_out and is_cut_short) or (about_one and not is_unreachable(cause))):
        breaker.note_nothing()
    elif is_silent and not (may_time_out and has_timed_out):
        if has_timed_out and get_client and breaker.is_near_opening and _lists(get_client):
            breaker.note_answer()
        else:
            breaker.note_silence(began)
    else:
        breaker.note_answer()


def _lists(get_client: Callable[[], Any]) -> bool:
    """Returns whether the engine lists a container in time. The caller's own time may be over."""
    try:
        with translate_errors(), time_of_its_own(LIST_WITHIN), size_limit(LIST_SIZE):
            get_client().containers(limit=1)
    except EngineError:
        return False
    return True
