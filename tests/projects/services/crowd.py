"""Many simultaneous requests of one user to an engine that blocks them."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import connection

from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import hang_up
from tests.waiting import wait_until

AT_ONCE = 45
GUARD = 120.0

Act = Callable[[int], Any]


class Crowd:
    """`held` is the number of requests that wait for the engine, `answers` has the status of all others."""

    def __init__(self, engine: MemoryEngine, verb: str) -> None:
        self._go_on = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.held = 0
        self.most_held = 0
        self.answers: list[int] = []
        engine.slow(verb, self.hold)

    def hold(self) -> None:
        """What the engine does until all may continue."""
        if self._go_on.is_set():
            return
        with self._lock:
            self.held += 1
            self.most_held = max(self.held, self.most_held)
        assert self._go_on.wait(GUARD)
        with self._lock:
            self.held -= 1

    def come(self, act: Act, number: int = AT_ONCE) -> None:
        """Sends all requests and waits until each of them is answered or held."""
        self._threads = [threading.Thread(target=self._send, args=[act, index]) for index in range(number)]
        for thread in self._threads:
            thread.start()
        wait_until(lambda: self.held + len(self.answers) == number, within=GUARD, what=self._describe)

    def leave(self) -> Counter[int]:
        """Lets all continue. Returns how often each status was answered."""
        self._go_on.set()
        for thread in self._threads:
            thread.join(GUARD)
        return Counter(self.answers)

    def _send(self, act: Act, index: int) -> None:
        try:
            answer = act(index)
            status = answer.status_code
            hang_up(answer)
        finally:
            connection.close()
        with self._lock:
            self.answers.append(status)

    def _describe(self) -> str:
        return f"{self.held} held, answered {Counter(self.answers)}"
