"""One thing after the other in each place, several places at once, and an end to it on request."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from telegram import Message

from assistant.remembering.memory import Place

MOST_WAITING = 10  # in one place
MOST_PLACES = 200  # at work at once, so that a flood from many chats has an end


class Asked(NamedTuple):
    """The number of a message, its question, and the message where it may be asked anew."""

    message: int
    question: str
    whole: Message | None = None


class Turns:
    def __init__(self) -> None:
        self._queues: dict[Place, list[asyncio.Task[None]]] = {}
        self._asked: dict[asyncio.Task[None], Asked] = {}

    def add(self, place: Place, work: Callable[[], Coroutine[Any, Any, None]], asked: Asked) -> bool:
        """Does the work when all that was added before is done. False, having added nothing, where that is too much."""
        queue = self._queues.get(place, [])
        if len(queue) >= MOST_WAITING or (not queue and len(self._queues) >= MOST_PLACES):
            return False
        task = asyncio.create_task(self._after(queue[-1] if queue else None, work))
        self._queues[place] = [*queue, task]
        self._asked[task] = asked
        task.add_done_callback(lambda done: self._remove(place, done))
        return True

    def find_question(self, place: Place, message: int) -> str | None:
        """What this message has asked, where that is under way or waits."""
        asked = (self._asked[task] for task in self._queues.get(place, []))
        return next((each.question for each in asked if each.message == message), None)

    def cancel(self, place: Place, message: int | None = None) -> bool:
        """Ends what is under way in the place and all that waits there, or what this message asked for alone.

        Whether there was anything.
        """
        queue = [task for task in self._queues.get(place, []) if message in (None, self._asked[task].message)]
        for task in reversed(queue):  # or the end of one would let the next begin
            task.cancel()
        return bool(queue)

    async def finish(self, patience: float) -> dict[Place, list[Message]]:
        """Waits so many seconds, then cancels the rest. Returns where something was left, and what."""
        tasks = {task: (place, self._asked[task]) for place, queue in self._queues.items() for task in queue}
        left: dict[Place, list[Message]] = {}
        if not tasks:
            return left
        _, late = await asyncio.wait(tasks, timeout=patience)
        for task, (place, asked) in tasks.items():
            if task in late:
                task.cancel()
                left.setdefault(place, []).extend([asked.whole] if asked.whole is not None else [])
        return left

    @staticmethod
    async def _after(before: asyncio.Task[None] | None, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if before is not None:
            await asyncio.wait({before})
        await work()

    def _remove(self, place: Place, task: asyncio.Task[None]) -> None:
        del self._asked[task]
        left = [each for each in self._queues.get(place, []) if each is not task]
        if left:
            self._queues[place] = left
        else:
            self._queues.pop(place, None)
