"""What an agent keeps is copied and put back through any image that is left, not only that of its type."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state
from tests.projects.images.updating import NAME, NEW, OLD, REMEMBERED, copies, image_of, late, look, path_of, told

pytestmark = pytest.mark.one_database

Fault = Callable[[MemoryEngine], object]


def spoil(engine: MemoryEngine) -> None:
    """The type's image is built anew, and no agent can have it."""
    engine.former_images.add(NEW)
    newest = replace(engine.described[NAME], image_id=f"sha256:{'c' * 64}", fault="The image declares 131,070 ports.")
    engine.described[NAME] = newest


def lose_name(engine: MemoryEngine) -> None:
    engine.images.discard(NAME)
    engine.former_images.add(NEW)


def lose_new(engine: MemoryEngine) -> None:
    """Only the image is left that the agent ran before."""
    engine.images.discard(NAME)


FAULTS: dict[str, Fault] = {"is unusable": spoil, "has lost its name": lose_name, "is gone": lose_new}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_way_back_needs_no_image_of_the_type(
    api: APIClient, engine: MemoryEngine, outdated: Project, fault: str
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    look(1)
    late(outdated)
    engine.ready_after_deploy = True
    engine.states[f"{outdated.container_name}-data"] = pack_state({"memory": "spoiled"})
    FAULTS[fault](engine)
    look(2)
    assert (image_of(engine, outdated), engine.states[f"{outdated.container_name}-data"]) == (OLD, REMEMBERED)
    assert (told(outdated)[-1], copies(engine)) == ("undone", [])


@pytest.mark.parametrize("fault", ["is unusable", "has lost its name"])
def test_the_copy_needs_no_image_of_the_type(
    api: APIClient, engine: MemoryEngine, outdated: Project, fault: str
) -> None:
    """The image that was the newest one at the request is tried."""
    api.post(f"{path_of(outdated)}/update")
    FAULTS[fault](engine)
    look(2)
    assert (image_of(engine, outdated), told(outdated)[-1]) == (NEW, "done")


def test_without_any_image_the_event_names_that_of_the_type(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    api.post(f"{path_of(outdated)}/update")
    lose_new(engine)
    engine.former_images.clear()
    look(1)
    given_up = Event.objects.get(project_id=outdated.pk, action="new image", outcome="given up")
    assert f"could not be copied, so the old image runs again: The image {NAME} is not" in given_up.detail
