"""Runs the tasks of each place one after another and those of different places in parallel, and cancels on request."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from telegram import Message

from assistant.storage.memory import Place

MOST_WAITING = 10  # tasks in one place
MOST_PLACES = 200  # with tasks, so that a flood from many chats is limited


class QueuedQuestion(NamedTuple):
    """The message's number, its question, and the message itself if it can be handled again after a restart."""

    message: int
    question: str
    replayable: Message | None = None


class TurnQueue:
    def __init__(self) -> None:
        self._queues: dict[Place, list[asyncio.Task[None]]] = {}
        self._asked: dict[asyncio.Task[None], QueuedQuestion] = {}

    def add(self, place: Place, work: Callable[[], Coroutine[Any, Any, None]], question: QueuedQuestion) -> bool:
        """Runs the work after all that was added before it. Returns False, and adds nothing, if too much is waiting."""
        queue = self._queues.get(place, [])
        if len(queue) >= MOST_WAITING or (not queue and len(self._queues) >= MOST_PLACES):
            return False
        task = asyncio.create_task(self._after(queue[-1] if queue else None, work))
        self._queues[place] = [*queue, task]
        self._asked[task] = question
        task.add_done_callback(lambda done: self._remove(place, done))
        return True

    def find_question(self, place: Place, message: int) -> str | None:
        """Returns the question of this message if it is being answered or waits, else None."""
        questions = (self._asked[task] for task in self._queues.get(place, []))
        return next((each.question for each in questions if each.message == message), None)

    def cancel(self, place: Place, message: int | None = None) -> bool:
        """Cancels the running and the waiting tasks of the place, or only the task of this message.

        Returns whether there was any.
        """
        queue = [task for task in self._queues.get(place, []) if message in (None, self._asked[task].message)]
        for task in reversed(queue):  # in the other direction, the end of one task would start the next
            task.cancel()
        return bool(queue)

    async def finish(self, patience: float) -> dict[Place, list[Message]]:
        """Waits `patience` seconds, then cancels the remaining tasks. Returns their places, each with the messages that
        can be handled again.
        """
        tasks = {task: (place, self._asked[task]) for place, queue in self._queues.items() for task in queue}
        left: dict[Place, list[Message]] = {}
        if not tasks:
            return left
        _, late = await asyncio.wait(tasks, timeout=patience)
        for task, (place, question) in tasks.items():
            if task in late:
                task.cancel()
                left.setdefault(place, []).extend([question.replayable] if question.replayable is not None else [])
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
