"""The users as whom agents run on the engine."""

from collections.abc import Callable

from projects.models import Project
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine

BASE = 20_000
Deploy = Callable[..., Project]


def token(number: int) -> str:
    return CANARY_TELEGRAM_TOKEN.replace(CANARY_TELEGRAM_TOKEN.partition(":")[0], str(700_000_000 + number))


def user_in(engine: MemoryEngine, project: Project) -> int:
    """The user as whom the container of the project was made."""
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    return spec.user
