"""The pauses between the starts of a watcher that dies again and again."""

import itertools
from typing import Any
from unittest.mock import Mock

import pytest

from config.serving.supervision import watcher_process
from config.serving.supervision.watcher_process import LONGEST_BACKOFF, KeptWatcher


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
