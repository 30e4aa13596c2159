"""Fixtures of the tests of the services."""

import pytest

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.services.migrating import FakeArrivals, become_former


@pytest.fixture
def former(engine: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch) -> MemoryEngine:
    """The single host on which Alice's agent runs. All agents must move to the engine of this process."""
    made = become_former(engine, project)
    monkeypatch.setattr("projects.services.staff.migration.get_single_host", lambda _: made)
    monkeypatch.setattr("projects.services.staff.migration.AwaitedStates", FakeArrivals)
    FakeArrivals.awaited = set()
    return made
