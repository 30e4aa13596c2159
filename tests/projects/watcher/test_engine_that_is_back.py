"""The first round after an engine is back does the urgent work first."""

import pytest

from containers.errors import EngineUnavailableError, ImageMissingError
from containers.vocabulary import ContainerState
from projects.models import Project, Watch
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.watcher.reconcile.full import reconcile
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.watcher.rows import later, status_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def away(project: Project, engine: MemoryEngine) -> MemoryContainer:
    """The container of a project that has failed, because an engine with another directory has neither it nor its
    image.

    For example because of a line in `daemon.json` that is reverted.
    """
    found = engine.containers.pop(project.container_name)
    engine.fail("deploy", ImageMissingError, times=2)  # the image that it ran, and that of its type
    reconcile()
    assert Project.objects.get().failure_code == "image_missing"
    found.state = ContainerState.EXITED
    engine.containers[project.container_name] = found
    return found


@pytest.mark.parametrize("code", ["image_missing", "vanished"])
def test_an_agent_comes_back_with_its_engine(away: MemoryContainer, code: str, project: Project) -> None:
    """Nobody has to start each of them by hand."""
    later(project, failure_code=code, **NO_TROUBLE)
    reconcile()
    assert status_of(project) == "running"
    assert Project.objects.get().failed_at is None


def test_an_agent_whose_container_is_back_is_started_once(
    away: MemoryContainer, project: Project, engine: MemoryEngine
) -> None:
    engine.fail("deploy", ImageMissingError, times=2)
    for _ in range(3):
        later(project, **NO_TROUBLE)  # which would postpone it
        reconcile()
    assert status_of(project) == "failed"


def test_volumes_and_users_are_checked_by_the_following_round(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is one more list, for which an engine that has just been started may need as long as for the first."""
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
