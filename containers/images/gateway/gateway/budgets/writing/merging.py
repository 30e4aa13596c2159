"""Merges changes that wait for the disk, so that they take little memory however long it takes none. Pure.

The sums on the disk are the same afterwards. A call that has begun and ended meanwhile leaves what it cost, and nothing
that was reserved for it.
"""

from collections.abc import Iterable
from itertools import groupby

from gateway.budgets.changes import Cell, ChangeAdvance, Counts, Extend, Insert, Settle, add_to, by_day
from gateway.budgets.tasks import Task

MOST_CELLS = 50_000
"""Rows of usage that are kept one by one, some 20 MB. Of more, only the sums of days are."""


def merge(tasks: Iterable[Task]) -> list[Task]:
    """Returns fewer tasks with the same effect. What somebody waits for keeps its place between the others.

    Of other works with the same `key` only the last one is needed.
    """
    merged: list[Task] = []
    wanted = (each for each in tasks if not (each.is_read and each.is_cancelled))
    for can_merge, group in groupby(wanted, key=_can_merge):
        some = list(group)
        merged += _Merged(some).tasks() if can_merge else some
    return merged


def _can_merge(task: Task) -> bool:
    return task.done is None or (task.is_cancelled and isinstance(task.work, Insert))


class _Merged:
    def __init__(self, tasks: Iterable[Task]) -> None:
        self._latest: dict[object, Task] = {}
        self._begun: dict[int, tuple[Task, Insert]] = {}
        self._extended: dict[int, Task] = {}
        self._advances: dict[tuple[str, int], tuple[int, int]] = {}
        self._ids: list[int] = []
        self._cells: dict[Cell, Counts] = {}
        for each in tasks:
            self._add(each)

    def _add(self, task: Task) -> None:
        work = task.work
        if isinstance(work, Settle):
            for each in work.ids:
                self._end(each)
            add_to(self._cells, work.cells)
        elif isinstance(work, Insert):
            self._begun[work.reservation.id] = task, work
        elif isinstance(work, Extend):
            self._extended[work.reservation.id] = task
        elif isinstance(work, ChangeAdvance):
            self._change_advance(work.project, work.hour, work.tokens, work.money)
        else:
            key = getattr(work, "key", id(work))
            self._latest.pop(key, None)
            self._latest[key] = task

    def _end(self, reservation: int) -> None:
        self._extended.pop(reservation, None)
        if reservation not in self._begun:
            self._ids.append(reservation)
            return
        _, insert = self._begun.pop(reservation)
        if insert.is_drawn:
            one = insert.reservation
            self._change_advance(one.project, one.hour, -one.tokens, -one.money)

    def _change_advance(self, project: str, hour: int, tokens: int, money: int) -> None:
        before = self._advances.get((project, hour), (0, 0))
        self._advances[project, hour] = before[0] + tokens, before[1] + money

    def tasks(self) -> list[Task]:
        """What a call may need comes before what ends it."""
        cells = by_day(self._cells) if len(self._cells) > MOST_CELLS else self._cells
        changes = [ChangeAdvance(*place, *amounts) for place, amounts in self._advances.items() if any(amounts)]
        return [
            *self._latest.values(),
            *(task for task, _ in self._begun.values()),
            *self._extended.values(),
            *map(Task, changes),
            *([Task(Settle(tuple(self._ids), cells))] if self._ids or cells else []),
        ]
