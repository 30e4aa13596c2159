"""Starts the agent and turns its end into an exit code."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from agent_contract import RUN_PATH, AgentState, ExitCode, ProblemCode
from assistant.config import Config, read_config
from assistant.outcome import FatalError, Problem
from assistant.redaction import redactor, set_up_logging
from assistant.status import Status

logger = logging.getLogger("assistant")


def main() -> NoReturn:
    """Ends with os._exit: an orderly exit of the interpreter would wait for a thread that still imports an SDK."""
    set_up_logging(os.environ.get("AGENT_LOG_LEVEL", ""))
    status = Status(Path(os.environ.get("AGENT_RUN_DIR") or RUN_PATH))
    _stop_at_once_on_signal(status)
    code = _run(status)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _stop_at_once_on_signal(status: Status) -> None:
    """Handles signals until the event loop does: importing the libraries takes longer than some owners wait."""

    def stop(*_: object) -> None:
        status.note_end(AgentState.STOPPED)
        os._exit(ExitCode.STOPPED)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _run(status: Status) -> int:
    try:
        status.note_start()
        _live(read_config(), status)
    except FatalError as error:
        logger.error("%s", error.detail)  # noqa: TRY400 - the sentence is enough; a traceback would only frighten
        status.note_end(AgentState.FAILED, Problem(error.code, error.detail))
        return error.exit_code
    except Exception:
        logger.exception("the agent has crashed")
        status.note_end(AgentState.FAILED, Problem(ProblemCode.CRASH, "The agent has crashed; its log says more."))
        return ExitCode.CRASH
    status.note_end(AgentState.STOPPED)
    return ExitCode.STOPPED


def _live(config: Config, status: Status) -> None:
    redactor.learn(config.token, config.key)
    import asyncio  # noqa: PLC0415 - slow to import, and a configuration error need not wait for it

    from assistant.run import live  # noqa: PLC0415 - the same

    # Not asyncio.run: it waits for the thread that may still be importing an SDK.
    asyncio.new_event_loop().run_until_complete(live(config, status))
