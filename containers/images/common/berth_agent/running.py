"""Runs an agent from its first line to its exit code: log, status line and signals."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from agent_contract import AgentState, ExitCode, ProblemCode
from berth_agent.inputs import find_places
from berth_agent.outcome import FatalError, Problem
from berth_agent.redaction import set_up_logging
from berth_agent.status import Status

logger = logging.getLogger("agent")


def run(live: Callable[[Status], None]) -> NoReturn:
    """Runs `live`, which returns when a signal tells it to stop and raises `FatalError` if continuing makes no sense.

    Ends with os._exit, because an orderly exit of the interpreter would wait for threads that are still busy.
    """
    set_up_logging(os.environ.get("AGENT_LOG_LEVEL", ""))
    status = Status(find_places().run)
    _stop_at_once_on_signal(status)
    code = _run(live, status)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _stop_at_once_on_signal(status: Status) -> None:
    """Handles signals until `live` does: importing the libraries takes longer than some owners wait."""

    def stop(*_: object) -> None:
        status.note_end(AgentState.STOPPED)
        os._exit(ExitCode.STOPPED)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _run(live: Callable[[Status], None], status: Status) -> int:
    try:
        status.note_start()
        live(status)
    except FatalError as error:
        logger.error("%s", error.detail)  # noqa: TRY400 - the sentence says all; a traceback would look like a crash
        status.note_end(AgentState.FAILED, Problem(error.code, error.detail))
        return error.exit_code
    except Exception:
        logger.exception("the agent has crashed")
        status.note_end(AgentState.FAILED, Problem(ProblemCode.CRASH, "The agent has crashed; its log says more."))
        return ExitCode.CRASH
    status.note_end(AgentState.STOPPED)
    return ExitCode.STOPPED
