"""Agents that end on an engine that is slow to take their containers down."""

from containers.vocabulary import ContainerState
from projects.models import Project
from tests.fakes.engine import MemoryEngine


def go_down(engine: MemoryEngine, project: Project, *, exit_code: int = 1, oom: bool = False) -> None:
    """The agent ends. The engine still lists its container as running, and no longer answers about it."""
    engine.crash(project.container_name, exit_code=exit_code, oom=oom)
    engine.containers[project.container_name].listed_as = ContainerState.RUNNING
    engine.silence_container(project.container_name)


def be_down(engine: MemoryEngine, name: str) -> None:
    engine.containers[name].listed_as = None
    engine.silence_container(name, is_silent=False)
