"""What is in flight is ended with its project, in whatever order it came, was left by its agent and ended."""

import asyncio
import random
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.entries.bindings import Bindings
from gateway.entries.entry import Entry
from gateway.serving.inside import Inside

pytestmark = pytest.mark.one_database


class Call:
    """It is its own connection, whose cut ends it at once."""

    def __init__(self, inside: Inside, project: str) -> None:
        self.project = project
        self._stack = ExitStack()
        request: Any = SimpleNamespace(transport=self)
        self._leave = self._stack.enter_context(inside.counted(Entry(project), request))
        self.is_answered = True
        """Whether its agent still gets its answer."""

    def leave(self) -> None:
        """Its agent has hung up. What the answer costs is still read."""
        self.is_answered = False
        self._leave()

    def end(self) -> None:
        self.is_answered = False
        self._stack.close()

    abort = end


@pytest.fixture
def inside() -> Inside:
    return Inside(Bindings(lambda: 0.0))


def test_the_end_of_an_abandoned_call_hides_no_later_call(inside: Inside) -> None:
    first = Call(inside, "p")
    first.leave()
    Call(inside, "p").end()
    third = Call(inside, "p")
    first.end()
    asyncio.run(inside.fence("p"))
    assert not third.is_answered


@pytest.mark.parametrize("seed", range(20))
def test_after_a_fence_its_project_gets_no_answer_in_any_history(inside: Inside, seed: int) -> None:
    async def live() -> None:
        chance, calls = random.Random(seed), list[Call]()
        for _ in range(200):
            project, one = chance.choice("pq"), chance.choice(calls or [None])
            match chance.choice(["enter", "enter", "leave", "end", "end", "fence"]):
                case "enter":
                    calls.append(Call(inside, project))
                case "leave" if one:
                    one.leave()
                case "end" if one:
                    calls.remove(one)
                    one.end()
                case "fence":
                    others = [each for each in calls if each.project != project and each.is_answered]
                    await inside.fence(project)
                    assert not [each for each in calls if each.project == project and each.is_answered]
                    assert all(each.is_answered for each in others)
        for each in calls:
            each.end()
        assert not inside._of, "Nothing is kept of what has ended."

    asyncio.run(live())
