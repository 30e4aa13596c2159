"""Asks the engine again about agents for which it did not answer in time, while other reports are recorded."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import Empty, SimpleQueue

from django.db import connection

from accounts import clock
from containers.errors import EngineError
from containers.processes.side_work import begin_thread
from containers.vocabulary import Observation
from projects.watcher.reconcile.inspection import AT_ONCE, inspect

log = logging.getLogger(__name__)

WITHIN = 1.5
"""Seconds for the engine to answer. An agent is not asked about more often than that."""

MOST_TRIES = 30
"""The maximum number of attempts for one agent. A round may take most of a minute."""

FORGOTTEN_AFTER = 10.0
"""Seconds after which an attempt is given up. A thread without memory never ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the engine, and the time at which it was asked. `seen` is None if it has no such container."""

    seen: Observation | None
    at: datetime


@dataclass(slots=True, kw_only=True)
class _Repeat:
    tries: int = 0
    again_at: float = 0.0
    given_up_at: float | None = None
    """Set while the engine is asked."""


class RepeatedInspections:
    """Asks in threads that nobody waits for. `wake` is called when there may be an answer.

    One thread uses it. Agents of which it is not sure are left to the rounds.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._repeats: dict[str, _Repeat] = {}
        self._answered: SimpleQueue[tuple[str, _Repeat, Answer | None]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._repeats)

    def add(self, keys: Collection[str]) -> None:
        for key in keys:
            self._repeats.setdefault(key, _Repeat(tries=1))

    def forget(self, keys: Collection[str]) -> None:
        for key in self._repeats.keys() & set(keys):
            del self._repeats[key]

    def clear(self) -> None:
        self._repeats.clear()

    def take_answers(self) -> dict[str, Answer]:
        """Returns the answers that have come, and forgets these agents."""
        found: dict[str, Answer] = {}
        while True:
            try:
                key, repeat, answer = self._answered.get_nowait()
            except Empty:
                return found
            if self._repeats.get(key) is not repeat:
                continue  # it was forgotten meanwhile
            repeat.given_up_at = None
            if answer is not None:
                found[key] = answer
            if answer is not None or repeat.tries >= MOST_TRIES:
                del self._repeats[key]

    def begin_more(self) -> None:
        """Begins to ask about those that are due, the ones with the fewest attempts first."""
        now = time.monotonic()
        given_up = [key for key, each in self._repeats.items() if each.given_up_at and each.given_up_at < now]
        self.forget(given_up)
        free = AT_ONCE - sum(each.given_up_at is not None for each in self._repeats.values())
        due = [key for key, each in self._repeats.items() if each.given_up_at is None and each.again_at <= now]
        for key in sorted(due, key=lambda key: self._repeats[key].tries)[: max(free, 0)]:
            repeat = self._repeats[key]
            repeat.tries, repeat.again_at, repeat.given_up_at = repeat.tries + 1, now + WITHIN, now + FORGOTTEN_AFTER
            if not begin_thread(partial(self._ask, key, repeat)):
                self.forget([key])

    def _ask(self, key: str, repeat: _Repeat) -> None:
        answer, at = None, clock.now()
        try:
            seen = inspect(key, within=WITHIN)
            if not (seen and seen.has_slow_log):
                answer = Answer(seen=seen, at=at)
        except EngineError:
            pass  # asked again
        except Exception:
            log.exception("Asking again about an agent failed; a round does it.")
        finally:
            connection.close()
            self._answered.put((key, repeat, answer))
            self._wake()
