"""A newer image that no agent can have."""

import pytest
from rest_framework.test import APIClient

from containers.engine.images import ImageFacts
from containers.errors import ImageUnusableError
from projects.models import Project
from projects.rules.status.lifecycle import Action
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NAME, NEW, OLD, image_of, look, path_of, told

pytestmark = pytest.mark.one_database


def test_an_image_that_no_agent_can_have_is_refused_before_the_old_one_stops(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    engine.described[NAME] = ImageFacts(image_id=NEW, fault="The image declares 131,070 ports.")
    answer = api.post(f"{path_of(outdated)}/update")
    assert (answer.status_code, answer.json()["detail"]) == (502, "The image declares 131,070 ports.")
    look(1)
    assert (image_of(engine, outdated), told(outdated)) == (OLD, ["failed"])


@pytest.mark.parametrize("action", [Action.START, Action.RESTART])
def test_a_start_that_the_image_prevents_says_so(
    api: APIClient, engine: MemoryEngine, outdated: Project, action: Action
) -> None:
    api.post(f"{path_of(outdated)}/control", {"action": "stop"})
    engine.fail("deploy", ImageUnusableError, times=1)
    assert api.post(f"{path_of(outdated)}/control", {"action": str(action)}).status_code == 502
    detail = api.get(path_of(outdated)).json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("failed", "image_unusable")
    assert "Ask the staff to try it" in detail["status_reason"]["message"]
