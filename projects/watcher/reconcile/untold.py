"""What the engine has told of agents by events, and the rows may not say yet."""

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from containers.vocabulary import EngineEvent
from projects.watcher.reconcile.heard import ILL, OTHER, RUN, Subject

RUNS = frozenset({"start", "restart", "die", "stop"})
"""Events that tell of a run's beginning or end, which rows are told."""

OF_NO_RUN = frozenset({"create", "kill", "oom"})
"""Events that tell of what is about to happen, of which no row says anything and that no look would see."""

HEALTH = "health_status"


class News(NamedTuple):
    """`at` and `since` are on the engine's clock: when the last happened of what was heard of the subject, and the
    first that the row may not say. `heard` is on the monotonic clock: when the last was heard."""

    at: float
    since: float
    heard: float


class Untold:
    """It is for one thread at a time: who has it, locks it."""

    def __init__(self) -> None:
        self._news: dict[Subject, News] = {}

    def __bool__(self) -> bool:
        return bool(self._news)

    def hear(self, event: EngineEvent, *, at: float, heard: float) -> None:
        """The end or the beginning of a run, and that an agent is well, make an older word of its health void."""
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
        """All that was heard before this moment is in the rows, but for those of these keys."""
        self._news = {on: news for on, news in self._news.items() if news.heard > before or on[0] in but}

    def forget(self, told: Mapping[Subject, News], *, until: float, now: float) -> None:
        """The rows say this, and so all of these subjects until that moment, on the engine's clock as `now` is.

        Who was told of a run has not been looked at: that the row is new says nothing of the rest until another look.
        """
        news = {on: each for on, each in self._news.items() if each != told.get(on)}
        for (key, kind), each in news.items():
            if (key, kind) in told:
                news[key, kind] = each._replace(since=min(until, each.at))
            elif (key, RUN) in told:
                news[key, kind] = each._replace(at=now)
        self._news = news

    def find_oldest(self, *, but: Collection[Subject]) -> float:
        """When the first happened that the rows may not say. Infinite where they say all."""
        return min((news.since for on, news in self._news.items() if on not in but), default=math.inf)


def _kind_of(action: str) -> str:
    """Empty for what tells nothing that a row would say: another look writes that an agent is well."""
    if action in RUNS:
        return RUN
    if action == ILL:
        return ILL
    return "" if action in OF_NO_RUN or action.startswith(HEALTH) else OTHER
