"""The first round of an engine that is there again: what everybody waits for, and nothing that can wait."""

import pytest

from containers.errors import EngineUnavailableError
from projects.models import Watch
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.django_db(transaction=True)


def test_volumes_and_users_are_looked_at_by_the_round_after_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is one more list, for which an engine that has just been started may take as long as for the first."""
    monkeypatch.setattr("projects.watcher.watcher.VOLUMES_EVERY", 0.0)
    watcher = Watcher(name="one")
    asked = []
    engine.fail("observe", EngineUnavailableError)
    for _ in range(4):
        engine.calls.clear()
        watcher._confine(watcher._look)
        asked.append([verb for verb, _ in engine.calls if verb in {"observe", "highest_user", "list_volumes"}])
    everything = ["observe", "highest_user", "list_volumes"]
    assert asked == [["observe"], ["observe"], everything, everything]
    assert Watch.objects.get().heartbeat_at
