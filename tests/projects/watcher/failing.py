"""Steps of a round that fail at one project, and what must happen to the others."""

from typing import Any

import pytest

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of


def break_at(
    monkeypatch: pytest.MonkeyPatch, project: Project, place: Any, name: str, error: Exception | type[Exception]
) -> list[str]:
    """Lets the step raise the error for this project. Returns a list that gets an entry for each time."""
    real, broken = getattr(place, name), []

    def step(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, Project) and value.pk == project.pk for value in args):
            broken.append(name)
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(place, name, step)
    return broken


def end(projects: list[Project], engine: MemoryEngine) -> None:
    for project in projects:
        engine.exit(project.container_name, exit_code=1)


def assert_cared_for(projects: list[Project], engine: MemoryEngine) -> None:
    assert [engine.containers[project.container_name].state for project in projects] == ["running"] * len(projects)
    assert {status_of(project) for project in projects} == {"running"}
