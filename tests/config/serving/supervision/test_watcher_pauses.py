"""The pauses between the starts of a watcher that dies again and again."""

import itertools
from typing import Any
from unittest.mock import Mock

import pytest

from config.serving.supervision import watcher_process
from config.serving.supervision.watcher_process import BOOT_WITHIN, LONGEST_BACKOFF, OVERDUE_LOOKS, KeptWatcher


@pytest.mark.parametrize("boots_for", [0.0, 3.0])
def test_a_watcher_that_dies_at_every_start_is_back_soon_after_it_can_live(
    boots_for: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten seconds without processes, the next watcher must not be delayed by half a minute."""
    now, starts = [1000.0], list[float]()
    monkeypatch.setattr(watcher_process, "time", Mock(monotonic=lambda: now[0]))

    def start(_: object) -> Any:
        starts.append(now[0])
        born = now[0]
        return Mock(exitcode=1, is_alive=lambda: now[0] < born + boots_for)

    watcher = KeptWatcher(start)
    watcher.start()
    while now[0] < 1120.0:
        now[0] += 0.1
        watcher.look_after()
    pauses = [later - earlier - boots_for for earlier, later in itertools.pairwise(starts)]
    assert pauses[0] < 2
    assert max(pauses) < LONGEST_BACKOFF + 1 < 10
    assert len(pauses) < 25


@pytest.mark.parametrize("boots_for", [1.0, 59.0, 70.0, 100.0, 130.0, 300.0])
def test_a_watcher_that_starts_slowly_begins_to_work_at_last(boots_for: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an overloaded machine no watcher would ever lead otherwise, because each is killed while it starts."""
    now, children = [1000.0], list[Any]()
    monkeypatch.setattr(watcher_process, "time", Mock(monotonic=lambda: now[0]))

    def start(_: object) -> Any:
        child: Any = Mock(exitcode=-9)
        child.is_alive = lambda: not child.kill.called
        child.works_from = now[0] + boots_for
        children.append(child)
        return child

    watcher = KeptWatcher(start)
    watcher.start()
    until = now[0] + 16 * boots_for
    while now[0] < until:
        now[0] += 1.0
        if now[0] >= children[-1].works_from and not children[-1].kill.called:
            watcher.due.value = now[0] + 35
        watcher.look_after()
    assert watcher.has_shown_itself
    assert children[-1].is_alive()
    assert len(children) <= 4
    watcher.due.value = now[0] - 1  # it hangs later
    for _ in range(OVERDUE_LOOKS):
        watcher.end_stuck(children[-1])
    watcher.start()
    assert watcher.due.value == now[0] + BOOT_WITHIN
