"""The Unix users of agents on the engine."""

from collections.abc import Callable

from projects.models import Project
from tests.deploying import token_of_bot
from tests.fakes.engine import MemoryEngine

BASE = 20_000
Deploy = Callable[..., Project]


def token(number: int) -> str:
    return token_of_bot(700_000_000 + number)


def user_in(engine: MemoryEngine, project: Project) -> int:
    """Returns the user of the project's container."""
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    return spec.user
