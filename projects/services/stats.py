"""What an agent uses."""

from containers.get_engine import get_engine
from containers.vocabulary import Usage
from projects.models import Project


def read_usage(project: Project) -> Usage | None:
    """Returns what the container uses at this moment, or None while it does not run. Raises `EngineError`."""
    engine = get_engine()
    with engine.read_deadline():
        return engine.stats(project.container_key)
