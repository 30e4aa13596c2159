"""Events of the engine that the rows may not reflect yet."""

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from containers.vocabulary import EngineEvent
from projects.watcher.reconcile.event_updates import ILL, OTHER, RUN, Subject

RUNS = frozenset({"start", "restart", "die", "stop"})
"""Events for the beginning or the end of a run, which are recorded in rows."""

OF_NO_RUN = frozenset({"create", "kill", "oom"})
"""Events that announce something, which neither rows nor inspections show."""

HEALTH = "health_status"


class News(NamedTuple):
    """The events about one subject. `at` and `since` are on the engine's clock: the last event, and the first one that
    the row may not reflect. `heard` is on the monotonic clock: when the last one was received."""

    at: float
    since: float
    heard: float


class PendingEvents:
    """The events that rows may not reflect yet. Not thread-safe: its owner must lock it."""

    def __init__(self) -> None:
        self._news: dict[Subject, News] = {}

    def __bool__(self) -> bool:
        return bool(self._news)

    def hear(self, event: EngineEvent, *, at: float, heard: float) -> None:
        """Records an event. The beginning or end of a run and every event about health replace an older `ILL`."""
        kind = _kind_of(event.action)
        is_of_health = kind == RUN or event.action.startswith(HEALTH)
        before = [self._news.pop((event.key, ILL), None)] if is_of_health else []
        if kind:
            older = [each.since for each in (*before, self._news.get((event.key, kind))) if each]
            self._news[event.key, kind] = News(at, min([at, *older]), heard)

    def copy(self) -> dict[Subject, News]:
        return dict(self._news)

    def clear(self) -> None:
        self._news.clear()

    def forget_heard(self, before: float, *, but: Collection[str]) -> None:
        """Forgets everything received before this moment, because it is in the rows, except for these keys."""
        self._news = {on: news for on, news in self._news.items() if news.heard > before or on[0] in but}

    def forget(self, told: Mapping[Subject, News], *, until: float, now: float) -> None:
        """Forgets `told`, which the rows now reflect. They reflect all events of these subjects up to `until`.

        `until` and `now` are on the engine's clock. A row that was written from an event about a run was not inspected,
        so other subjects of its agent stay open until an inspection after `now`.
        """
        news = {on: each for on, each in self._news.items() if each != told.get(on)}
        for (key, kind), each in news.items():
            if (key, kind) in told:
                news[key, kind] = each._replace(since=min(until, each.at))
            elif (key, RUN) in told:
                news[key, kind] = each._replace(at=now)
        self._news = news

    def find_oldest(self, *, but: Collection[Subject]) -> float:
        """Returns the time of the first event that the rows may not reflect; infinite if they reflect all."""
        return min((news.since for on, news in self._news.items() if on not in but), default=math.inf)


def _kind_of(action: str) -> str:
    """Returns the kind of an event; empty if rows do not record it. An inspection records that an agent is healthy."""
    if action in RUNS:
        return RUN
    if action == ILL:
        return ILL
    return "" if action in OF_NO_RUN or action.startswith(HEALTH) else OTHER
