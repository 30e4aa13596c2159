"""An update to an image that no agent can have."""

import pytest
from rest_framework.test import APIClient

from containers.engine.images import ImageFacts
from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NAME, NEW, OLD, image_of, path_of, told

pytestmark = pytest.mark.one_database


def test_an_image_that_no_agent_can_have_is_refused_before_the_old_one_stops(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    engine.described[NAME] = ImageFacts(image_id=NEW, fault="The image declares 131,070 ports.")
    answer = api.post(f"{path_of(outdated)}/update")
    assert (answer.status_code, answer.json()["detail"]) == (502, "The image declares 131,070 ports.")
    reconcile(narrow=True)
    assert (image_of(engine, outdated), told(outdated)) == (OLD, ["failed"])
