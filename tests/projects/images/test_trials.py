"""How long a new image on trial has to become ready, and which ends are its own."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.engine.images import ImageFacts
from projects.models import Actor, AgentType, Project
from projects.services.images.bases import remove_unused_images
from projects.services.images.update import pin_image
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NAME, NEW, OLD, image_of, late, path_of, told

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


def test_an_end_of_the_whole_machine_does_not_count_against_the_new_image(
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


def test_a_pending_update_is_cancelled_by_a_pin_and_renewed_by_a_request(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    newer, actor = f"sha256:{'c' * 64}", Actor(label="ada", source="admin")
    api.post(f"{path_of(outdated)}/control", {"action": "stop"})
    api.post(f"{path_of(outdated)}/update")
    outdated.refresh_from_db()
    pin_image(project=outdated, actor=actor, keep=True)
    pin_image(project=outdated, actor=actor, keep=False)
    row = Project.objects.get(pk=outdated.pk)
    assert (row.update_step, row.next_image_id) == ("", "")
    api.post(f"{path_of(outdated)}/update")
    engine.described[NAME] = ImageFacts(image_id=newer)
    assert api.post(f"{path_of(outdated)}/update").status_code == 202
    assert Project.objects.get(pk=outdated.pk).next_image_id == newer
    api.post(f"{path_of(outdated)}/control", {"action": "start"})
    reconcile()
    assert image_of(engine, outdated) == newer


def test_an_agent_pinned_at_the_last_moment_is_not_updated(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    api.post(f"{path_of(outdated)}/update")
    Project.objects.update(keeps_image=True)
    reconcile()
    assert (image_of(engine, outdated), told(outdated)) == (OLD, ["recorded", "failed"])
    assert Project.objects.get(pk=outdated.pk).update_step == ""


def test_the_image_of_a_type_is_kept_although_no_project_runs_it(engine: MemoryEngine, outdated: Project) -> None:
    engine.former_images.add("sha256:of-a-type")
    AgentType.objects.update(image_id="sha256:of-a-type")
    assert remove_unused_images() == 0


@pytest.mark.parametrize(("code", "left"), [("tools_refused", NEW), ("provider_down", OLD)])
def test_a_new_image_is_kept_although_a_tool_server_refuses_it(
    api: APIClient, engine: MemoryEngine, outdated: Project, code: str, left: str
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    reconcile()
    engine.report(outdated.container_name, "degraded", code)
    late(outdated)
    reconcile()
    assert image_of(engine, outdated) == left
    assert told(outdated)[-1] == ("done" if left == NEW else "undone")
