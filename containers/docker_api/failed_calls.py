"""Decides what a failed call says about the engine as a whole."""

from containers.docker_api.circuit_breaker import CircuitBreaker
from containers.docker_api.errors import EngineFailedError, is_timeout, is_unreachable
from containers.errors import EngineError, EngineUnavailableError


def note_failure(
    breaker: CircuitBreaker,
    error: EngineError,
    began: float,
    *,
    is_cut_short: bool,
    may_time_out: bool,
    about_one: bool,
) -> None:
    """Notes the failure of a call admitted at `began`, which the caller described in `Connection.call`."""
    is_silent = isinstance(error, EngineUnavailableError) and not isinstance(error, EngineFailedError)
    cause = error.__cause__ or error
    has_timed_out = is_silent and is_timeout(cause)
    if is_silent and ((has_timed_out and is_cut_short) or (about_one and not is_unreachable(cause))):
        breaker.note_nothing()
    elif is_silent and not (may_time_out and has_timed_out):
        breaker.note_silence(began)
    else:
        breaker.note_answer()
