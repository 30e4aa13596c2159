"""Reports the agent's state: a log line on every change, and a file that the health check reads."""

import json
import time
from pathlib import Path
from threading import RLock

from agent_contract import CONTRACT_VERSION, LONGEST_DETAIL, STATUS_FILE, STATUS_MARK, AgentState
from berth_agent.outcome import Problem
from berth_agent.redaction import redactor


class Status:
    """Derives the state from facts. `running` is never set directly: it follows from a successful poll without a
    problem.

    Several threads may report facts.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / STATUS_FILE
        self._lock = RLock()  # a signal may arrive while its own thread holds it
        self._last_poll: int | None = None
        self._since = int(time.time())
        self._last_report: tuple[AgentState, str | None, str | None, int | None] | None = None
        self._paired: int | None = None
        self._telegram: Problem | None = None
        self._provider: Problem | None = None
        self._tools: Problem | None = None

    @property
    def provider(self) -> Problem | None:
        return self._provider

    def note_start(self) -> None:
        with self._lock:
            self._report(AgentState.STARTING, None)

    def note_poll(self) -> None:
        """Notes that Telegram has just answered a getUpdates."""
        with self._lock:
            self._last_poll = int(time.time())
            self._derive()

    def note_telegram(self, problem: Problem | None) -> None:
        with self._lock:
            self._telegram = problem
            self._derive()

    def note_provider(self, problem: Problem | None) -> None:
        with self._lock:
            self._provider = problem
            self._derive()

    def note_tools(self, problem: Problem | None) -> None:
        """Notes a problem with the agent's tools. The agent still answers without them."""
        with self._lock:
            self._tools = problem
            self._derive()

    def note_paired(self, count: int) -> None:
        """Notes how many people the agent is paired with. An agent that does not pair never calls this."""
        with self._lock:
            self._paired = count
            self._derive()

    def note_end(self, state: AgentState, problem: Problem | None = None) -> None:
        with self._lock:
            self._report(state, problem)

    def _derive(self) -> None:
        """Call this with the lock held since the facts changed; otherwise a thread could report an outdated state."""
        problem = self._telegram or self._provider or self._tools
        if self._last_poll is None:
            self._report(AgentState.STARTING, self._telegram)
        else:
            self._report(AgentState.DEGRADED if problem else AgentState.RUNNING, problem)

    def _report(self, state: AgentState, problem: Problem | None) -> None:
        code = str(problem.code) if problem else None
        detail = redactor.clean(problem.detail)[:LONGEST_DETAIL] if problem else None
        report = (state, code, detail, self._paired)
        changed = report != self._last_report
        if changed:
            self._last_report = report
            self._since = int(time.time())
        self._write(state, code, detail)  # before the line, so that readers of the line find a matching file
        if changed:
            line = {"v": CONTRACT_VERSION, "state": state, "code": code, "detail": detail, **self._pairing()}
            print(STATUS_MARK + json.dumps(line, separators=(",", ":")), flush=True)  # noqa: T201 - the contract

    def _pairing(self) -> dict[str, int]:
        return {} if self._paired is None else {"paired": self._paired}

    def _write(self, state: AgentState, code: str | None, detail: str | None) -> None:
        """Writes one line, `state` and `last_poll` before any free text: health.sh has no JSON parser."""
        facts = {
            "v": CONTRACT_VERSION,
            "state": state,
            "last_poll": self._last_poll,
            "since": self._since,
            "code": code,
            **self._pairing(),
        }
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(facts | {"detail": detail}, separators=(",", ":")) + "\n")
        draft.replace(self._path)
