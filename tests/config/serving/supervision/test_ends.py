"""How a `serve` ends, by a signal or by itself, and what it prints and returns."""

import signal
from typing import Any

import pytest

from config.serving.supervision.children import KILL_AFTER, WATCHER, WEB
from config.serving.supervision.supervisor import Supervisor

pytestmark = pytest.mark.timeout(600)


class Child:
    def __init__(self) -> None:
        self.pid, self.exitcode, self.log = 4321, 0, list[str]()

    def is_alive(self) -> bool:
        return not self.log

    def terminate(self) -> None:
        self.log.append("TERM")

    def kill(self) -> None:
        self.log.append("KILL")

    def join(self, timeout: float = 0) -> None:
        """It has ended."""


TERM, INT, QUIT = signal.SIGTERM, signal.SIGINT, signal.SIGQUIT


@pytest.mark.parametrize(
    ("numbers", "said", "code"),
    [
        ([TERM], ["TERM"], 0),
        ([INT], ["TERM"], 0),
        ([TERM, TERM], ["TERM", "KILL"], 143),
        ([INT, INT], ["TERM", "KILL"], 130),
        ([TERM, INT], ["TERM", "KILL"], 130),
        ([QUIT], ["KILL"], 131),
        ([TERM, QUIT], ["TERM", "KILL"], 131),
    ],
)
def test_signals_to_end(numbers: list[signal.Signals], said: list[str], code: int) -> None:
    supervisor: Any = Supervisor()
    children = {WEB: Child(), WATCHER: Child()}
    supervisor._children = children
    for number in numbers:
        supervisor._on_stop(number, None)
    assert supervisor._end() == code
    assert all(child.log == said for child in children.values())


@pytest.mark.parametrize(("exit_code", "expected"), [(0, 1), (1, 1), (3, 3), (-9, 137), (-11, 139)])
def test_a_web_server_that_ends_by_itself_is_a_failure(exit_code: int, expected: int) -> None:
    supervisor: Any = Supervisor()
    web = Child()
    web.exitcode = exit_code
    supervisor._children = {WEB: web, WATCHER: Child()}
    assert supervisor._end() == expected


def test_a_running_request_has_its_full_time() -> None:
    assert KILL_AFTER > 30
