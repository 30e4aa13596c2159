"""A new image with a way back: what a request answers, what the watcher does, and what is left when it is killed."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineRefusedError
from projects.models import Actor, Event, Project
from projects.rules.status.lifecycle import LONGEST_CLAIM
from projects.services.images import rollback as image_return
from projects.services.images.bases import remove_unused_images
from projects.services.images.update import pin_image
from projects.services.operations import time_allowed
from projects.watcher.heartbeat import REPAIR
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state
from tests.projects.images.updating import NAME, NEW, OLD, REMEMBERED, copies, image_of, late, path_of, told

pytestmark = pytest.mark.one_database


def test_a_start_and_a_restart_keep_the_image_and_the_detail_offers_the_new_one(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
) -> None:
    for action in ("restart", "stop", "start"):
        assert api.post(f"{path_of(outdated)}/control", {"action": action}).status_code == 200
    assert image_of(engine, outdated) == OLD
    expected = {"update_available": True, "updating": False, "pinned": False}
    assert api.get(path_of(outdated)).json()["image"] == expected
    assert api.post(f"{path_of(outdated)}/control?wait=1", {"action": "restart"}).json()["image"] == expected


def test_an_agent_whose_image_is_lost_starts_with_the_new_one(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    engine.former_images.clear()
    assert api.post(f"{path_of(outdated)}/control", {"action": "restart"}).status_code == 200
    assert image_of(engine, outdated) == NEW
    assert not api.get(path_of(outdated)).json()["image"]["update_available"]


def test_an_update_is_requested_tried_and_kept(api: APIClient, engine: MemoryEngine, outdated: Project) -> None:
    answer = api.post(f"{path_of(outdated)}/update")
    assert (answer.status_code, answer.json()["image"]["updating"]) == (202, True)
    assert image_of(engine, outdated) == OLD
    reconcile(narrow=True)
    assert (image_of(engine, outdated), len(copies(engine))) == (NEW, 1)
    reconcile(narrow=True)
    answer = api.get(path_of(outdated)).json()
    assert answer["image"] == {"update_available": False, "updating": False, "pinned": False}
    assert (answer["status"], copies(engine)) == ("running", [])
    assert told(outdated) == ["recorded", "started", "done"]
    assert engine.states[f"{outdated.container_name}-data"] == REMEMBERED
    assert api.post(f"{path_of(outdated)}/update").status_code == 200


def test_an_image_that_does_not_get_ready_is_replaced_by_the_old_one_with_its_memory(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    reconcile(narrow=True)
    for _ in range(2):
        reconcile(narrow=True)
    assert image_of(engine, outdated) == NEW
    engine.states[f"{outdated.container_name}-data"] = pack_state({"memory": "spoiled"})
    late(outdated)
    engine.ready_after_deploy = True
    reconcile(narrow=True)
    assert (image_of(engine, outdated), copies(engine)) == (OLD, [])
    assert engine.states[f"{outdated.container_name}-data"] == REMEMBERED
    answer = api.get(path_of(outdated)).json()
    assert (answer["status"], answer["image"]["update_available"]) == ("running", True)
    assert told(outdated) == ["recorded", "started", "given up", "undone"]
    why = Event.objects.get(project_id=outdated.pk, outcome="given up").detail
    assert why.startswith("The new image was not ready within 90 seconds, so the old one runs again")


def test_an_image_that_ends_is_replaced_at_once_and_the_event_gives_the_reason(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.dies_at_start[outdated.container_name] = 40
    reconcile()
    engine.dies_at_start.clear()
    for _ in range(2):
        reconcile()
    assert image_of(engine, outdated) == OLD
    assert told(outdated) == ["recorded", "started", "given up", "undone"]
    assert "The new image ended" in Event.objects.get(project_id=outdated.pk, outcome="given up").detail
    assert api.get(path_of(outdated)).json()["status"] == "running"


@pytest.mark.parametrize("call", ["keep_copy", "deploy"])
def test_an_update_that_the_engine_refuses_leaves_the_old_image_running(
    api: APIClient, engine: MemoryEngine, outdated: Project, call: str
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.fail(call, EngineRefusedError("There is no room on the disk."))
    reconcile()
    assert told(outdated)[-1] == "given up"
    reconcile()
    assert (image_of(engine, outdated), told(outdated)[-1]) == (OLD, "undone")
    assert "no room on the disk" in Event.objects.get(project_id=outdated.pk, outcome="given up").detail
    assert engine.states[f"{outdated.container_name}-data"] == REMEMBERED
    assert api.get(path_of(outdated)).json()["status"] == "running"


def test_the_old_container_stops_before_the_copy_and_before_the_new_one_starts(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
) -> None:
    api.post(f"{path_of(outdated)}/update")
    engine.calls.clear()
    reconcile()
    wanted = [call for call, _ in engine.calls if call in {"stop", "keep_copy", "deploy"}]
    assert wanted == ["stop", "keep_copy", "deploy"]


def test_a_stop_during_an_update_counts_and_the_update_continues_at_the_next_start(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
) -> None:
    api.post(f"{path_of(outdated)}/update")
    api.post(f"{path_of(outdated)}/control", {"action": "stop"})
    for _ in range(2):
        reconcile(narrow=True)
    assert (image_of(engine, outdated), api.get(path_of(outdated)).json()["status"]) == (OLD, "stopped")
    api.post(f"{path_of(outdated)}/control", {"action": "start"})
    for _ in range(2):
        reconcile(narrow=True)
    assert (image_of(engine, outdated), told(outdated)[-1]) == (NEW, "done")


def test_a_deletion_in_between_removes_the_copy_too(api: APIClient, engine: MemoryEngine, outdated: Project) -> None:
    api.post(f"{path_of(outdated)}/update")
    reconcile()
    assert copies(engine)
    assert api.delete(path_of(outdated)).status_code == 204
    assert engine.volumes == set()


def test_a_second_click_is_only_recorded(api: APIClient, engine: MemoryEngine, outdated: Project) -> None:
    assert [api.post(f"{path_of(outdated)}/update").status_code for _ in range(2)] == [202, 202]
    assert told(outdated) == ["recorded", "recorded"]


def test_obstacles_to_an_update_are_explained(
    api: APIClient, ada: User, engine: MemoryEngine, outdated: Project
) -> None:
    actor = Actor(label=ada.email, source="admin")
    pin_image(project=outdated, actor=actor, keep=True)
    answer = api.post(f"{path_of(outdated)}/update")
    assert (answer.status_code, answer.json()["code"]) == (409, "image_pinned")
    assert api.get(path_of(outdated)).json()["image"] == {"update_available": False, "updating": False, "pinned": True}
    pin_image(project=outdated, actor=actor, keep=False)
    Project.objects.update(suspended_at=timezone.now())
    assert api.post(f"{path_of(outdated)}/update").json()["code"] == "project_suspended"
    Project.objects.update(suspended_at=None)
    engine.unavailable = True
    assert api.post(f"{path_of(outdated)}/update").status_code == 503
    engine.unavailable = False
    engine.images.discard(NAME)
    assert api.post(f"{path_of(outdated)}/update").status_code == 502


def test_the_stranger_finds_nothing(bob: User, outdated: Project) -> None:
    assert api_of(bob).post(f"{path_of(outdated)}/update").status_code == 404


def test_the_time_for_a_step_fits_the_claim_and_the_pulse() -> None:
    assert time_allowed(seconds=image_return.WITHIN) <= LONGEST_CLAIM
    assert image_return.WITHIN < REPAIR


def test_images_go_that_no_project_runs_or_may_go_back_to(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    engine.former_images |= {"sha256:unused"}
    assert remove_unused_images() == 1
    assert engine.former_images == {OLD}
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    reconcile()
    assert (image_of(engine, outdated), remove_unused_images()) == (NEW, 0)
    engine.ready_after_deploy = True
    api.post(f"{path_of(outdated)}/control", {"action": "restart"})
    reconcile()
    assert (told(outdated)[-1], remove_unused_images()) == ("done", 1)
