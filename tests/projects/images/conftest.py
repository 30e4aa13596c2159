"""An agent that runs an image which has lost its name to a newer one."""

from collections.abc import Callable

import pytest

from containers.engine.images import ImageFacts
from projects.models import Project
from projects.services.images.bases import note_images
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NAME, NEW, OLD, REMEMBERED


@pytest.fixture
def outdated(engine: MemoryEngine, deploy: Callable[..., Project]) -> Project:
    """It runs an image that has lost its name to a newer one, and has stored something."""
    engine.described[NAME] = ImageFacts(image_id=OLD)
    project = deploy()
    engine.states[f"{project.container_name}-data"] = REMEMBERED
    engine.former_images.add(OLD)
    engine.described[NAME] = ImageFacts(image_id=NEW)
    note_images()
    return project
