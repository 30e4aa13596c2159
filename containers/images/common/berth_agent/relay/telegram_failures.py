"""Decides when failures of Telegram are reported as a problem, and when they have lasted too long."""

import time
from threading import Lock

from agent_contract import ExitCode, ProblemCode
from berth_agent.outcome import FatalError, Problem
from berth_agent.preflight import TOKEN_REJECTED, UNREACHABLE
from berth_agent.relay.config import Config
from berth_agent.status import Status

BLIPS = 3  # failures in a row before they are reported as a problem
FEW_CONFLICTS = 3  # the last poll of the container that this one replaces may still be open

ELSEWHERE = "Another program polls this bot, or a webhook is set for it."


class TelegramFailures:
    """Several threads may use one object."""

    def __init__(self, config: Config, status: Status) -> None:
        self._config = config
        self._status = status
        self._lock = Lock()
        self._last_success = time.monotonic()
        self._failures = 0
        self._conflicts: list[float] = []

    def note_success(self, *, polled: bool) -> None:
        with self._lock:
            self._last_success, self._failures = time.monotonic(), 0
            # Two pollers succeed alternately, so a conflict is over only after some time without one.
            if self._conflicts and time.monotonic() - self._conflicts[-1] > self._config.conflict_seconds / 3:
                self._conflicts.clear()
            if not self._conflicts:
                self._status.note_telegram(None)
            if polled:
                self._status.note_poll()

    def note_failure(self, *, retry_after: float = 0) -> float:
        """Returns the seconds to wait before the next try. Raises `FatalError` if there should be none."""
        with self._lock:
            self._failures += 1
            if time.monotonic() - self._last_success > self._config.unreachable_seconds:
                raise FatalError(ExitCode.TELEGRAM_UNREACHABLE, ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE)
            if self._failures >= BLIPS:
                self._status.note_telegram(Problem(ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE))
            wanted = retry_after or float(1 << min(self._failures - 1, 10))
            return min(wanted, self._config.pause_seconds, self._config.unreachable_seconds / 4)

    def note_conflict(self) -> float:
        """The same as `note_failure`, for a bot that someone else polls as well."""
        with self._lock:
            now = self._last_success = time.monotonic()  # a conflict is an answer too
            self._conflicts.append(now)
            lasted = now - self._conflicts[0]
            if lasted >= self._config.conflict_seconds and len(self._conflicts) >= FEW_CONFLICTS:
                raise FatalError(ExitCode.TELEGRAM_CONFLICT, ProblemCode.TELEGRAM_CONFLICT, ELSEWHERE)
            self._status.note_telegram(Problem(ProblemCode.TELEGRAM_CONFLICT, ELSEWHERE))
            return min(self._config.pause_seconds, self._config.conflict_seconds / 4)


def token_rejected() -> FatalError:
    return FatalError(ExitCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_TOKEN, TOKEN_REJECTED)
