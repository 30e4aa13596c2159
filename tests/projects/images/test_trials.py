"""How long a new image that is tried has to become ready, and which ends are its own."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Project
from projects.watcher.reconcile import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NEW, OLD, image_of, late, path_of, told

pytestmark = pytest.mark.one_database


def test_a_restart_in_the_trial_gives_the_new_image_its_time_again(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    reconcile()
    Project.objects.update(update_until=timezone.now() - timedelta(hours=1))
    api.post(f"{path_of(outdated)}/control", {"action": "restart"})
    reconcile()
    assert (image_of(engine, outdated), told(outdated)[-1]) == (NEW, "started")
    late(outdated)
    reconcile()
    assert (image_of(engine, outdated), told(outdated)[-1]) == (OLD, "undone")


def test_an_end_with_the_whole_machine_says_nothing_of_the_new_image(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    reconcile()
    engine.stop(outdated.container_key, timeout=1)
    engine.since = timezone.now()
    reconcile()
    assert (image_of(engine, outdated), told(outdated)) == (NEW, ["recorded", "started", "started"])
    assert engine.containers[outdated.container_name].is_up
