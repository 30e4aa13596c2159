"""Requests in flight end with their project, no matter in which order they began, were left by
their agents and ended.
"""

import asyncio
import random
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.entries.bindings import Bindings
from gateway.entries.entry import Entry
from gateway.serving.in_flight import InFlight

pytestmark = pytest.mark.one_database


class Call:
    """A call that is its own connection. Cutting the connection ends the call at once."""

    def __init__(self, in_flight: InFlight, project: str) -> None:
        self.project = project
        self._stack = ExitStack()
        request: Any = SimpleNamespace(transport=self)
        self._leave = self._stack.enter_context(in_flight.counted(Entry(project), request))
        self.is_answered = True
        """Whether its agent still gets the answer."""

    def leave(self) -> None:
        """Its agent has hung up. The rest of the answer is still read, to count its cost."""
        self.is_answered = False
        self._leave()

    def end(self) -> None:
        self.is_answered = False
        self._stack.close()

    abort = end


@pytest.fixture
def in_flight() -> InFlight:
    return InFlight(Bindings(lambda: 0.0))


def test_the_end_of_an_abandoned_call_hides_no_later_call(in_flight: InFlight) -> None:
    first = Call(in_flight, "p")
    first.leave()
    Call(in_flight, "p").end()
    third = Call(in_flight, "p")
    first.end()
    asyncio.run(in_flight.cut("p"))
    assert not third.is_answered


@pytest.mark.parametrize("seed", range(20))
def test_after_a_fence_its_project_gets_no_answer_in_any_history(in_flight: InFlight, seed: int) -> None:
    async def live() -> None:
        chance, calls = random.Random(seed), list[Call]()
        for _ in range(200):
            project, one = chance.choice("pq"), chance.choice(calls or [None])
            match chance.choice(["enter", "enter", "leave", "end", "end", "fence"]):
                case "enter":
                    calls.append(Call(in_flight, project))
                case "leave" if one:
                    one.leave()
                case "end" if one:
                    calls.remove(one)
                    one.end()
                case "fence":
                    others = [each for each in calls if each.project != project and each.is_answered]
                    await in_flight.cut(project)
                    assert not [each for each in calls if each.project == project and each.is_answered]
                    assert all(each.is_answered for each in others)
        for each in calls:
            each.end()
        assert not in_flight._connections, "Nothing is kept of what has ended."

    asyncio.run(live())
