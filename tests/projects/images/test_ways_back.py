"""Ways back from a new image that are obstructed."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from projects.models import Event, Project
from projects.rules.status.image_update import Due
from projects.services.images import trial as image_trial
from projects.services.images.rollback import TRIES
from projects.services.inventory.memory import list_memories, read_memory
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state
from tests.projects.images.updating import NEW, OLD, REMEMBERED, copies, image_of, late, look, path_of, told

pytestmark = pytest.mark.one_database

SPOILED = pack_state({"memory": "spoiled"})


@pytest.fixture
def refused(api: APIClient, engine: MemoryEngine, outdated: Project) -> Project:
    """The new image does not become ready and has destroyed the agent's state: the next round begins the way back."""
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    look(1)
    late(outdated)
    engine.ready_after_deploy = True
    engine.states[f"{outdated.container_name}-data"] = SPOILED
    return outdated


def row_of(project: Project) -> Project:
    return Project.objects.get(pk=project.pk)


def refuse(engine: MemoryEngine, patch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise EngineRefusedError("Something is in the way.")

    patch.setattr(engine, call, fail)


def state_of(engine: MemoryEngine, project: Project) -> bytes:
    return engine.states[f"{project.container_name}-data"]


def make_due() -> None:
    Project.objects.exclude(reconcile_again_at=None).update(reconcile_again_at=timezone.now())


def test_an_unrecorded_image_is_read_from_the_container(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    """As for every agent that was last deployed before rows had it."""
    Project.objects.update(image_id="")
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    look(1)
    assert row_of(outdated).former_image_id == OLD
    late(outdated)
    engine.states[f"{outdated.container_name}-data"] = SPOILED
    look(1)
    assert (image_of(engine, outdated), state_of(engine, outdated)) == (OLD, REMEMBERED)


def test_without_an_old_image_no_update_is_tried(api: APIClient, engine: MemoryEngine, outdated: Project) -> None:
    Project.objects.update(image_id="")
    api.post(f"{path_of(outdated)}/update")
    engine.containers[outdated.container_name].image_id = ""
    generation = row_of(outdated).generation
    look(1)
    assert (told(outdated), copies(engine), row_of(outdated).update_step) == (["recorded", "failed"], [], "")
    assert row_of(outdated).generation == generation
    assert "no way back" in Event.objects.get(project_id=outdated.pk, outcome="failed").detail


def test_a_failing_rollback_is_retried_with_growing_pauses_and_keeps_the_copy(
    api: APIClient, engine: MemoryEngine, refused: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refuse(engine, patch, "return_copy")
        for tried in range(1, TRIES + 1):
            look(2)
            assert row_of(refused).reconcile_failures == tried
            make_due()
        look(3)
        answer = api.get(path_of(refused)).json()
        assert (answer["status"], answer["status_reason"]["code"]) == ("failed", "copy_not_returned")
        assert (told(refused), len(copies(engine))) == (["recorded", "started", "given up", "failed"], 1)
        assert api.post(f"{path_of(refused)}/update").status_code == 409
    api.post(f"{path_of(refused)}/control", {"action": "start"})
    look(2)
    assert (image_of(engine, refused), state_of(engine, refused), copies(engine)) == (OLD, REMEMBERED, [])
    assert (told(refused)[-1], row_of(refused).update_step) == ("undone", "")


def test_the_copy_is_restored_once_and_never_over_newer_data(
    engine: MemoryEngine, refused: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed when the old image runs again, and before that is recorded."""
    real = engine.deploy

    def deploy(*args: Any, **options: Any) -> Any:
        real(*args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "deploy", deploy)
        with pytest.raises(KeyboardInterrupt):
            look(1)
    written = engine.states[f"{refused.container_name}-data"] = pack_state({"memory": "what it learned since"})
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now())
    look(2)
    assert (told(refused)[-1], state_of(engine, refused), copies(engine)) == ("undone", written, [])


@pytest.mark.parametrize("is_way_back", [True, False])
def test_a_copy_that_cannot_be_removed_is_nobodys_trouble(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_way_back: bool,
) -> None:
    if is_way_back:
        request.getfixturevalue("refused")
    else:
        api.post(f"{path_of(outdated)}/update")
    with monkeypatch.context() as patch:
        refuse(engine, patch, "drop_copy")
        look(4)
    assert told(outdated)[-1] == ("undone" if is_way_back else "done")
    assert (image_of(engine, outdated), len(copies(engine))) == (OLD if is_way_back else NEW, 1)
    answer = api.get(path_of(outdated)).json()
    assert (answer["status"], answer["image"]["updating"], row_of(outdated).reconcile_failures) == ("running", False, 0)
    assert api.post(f"{path_of(outdated)}/update").status_code == 409
    look(1)
    assert len(copies(engine)) == 1, "It is tried again after some minutes."
    Project.objects.update(update_until=timezone.now() - timedelta(seconds=1))
    look(1)
    assert (copies(engine), row_of(outdated).update_step) == ([], "")


def test_a_copy_is_kept_if_the_row_was_claimed_meanwhile(
    api: APIClient, engine: MemoryEngine, outdated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner restarts it at the moment at which the new image is found ready."""
    api.post(f"{path_of(outdated)}/update")
    look(1)
    stale = Project.objects.select_related("owner", "plan", "agent_type").get(pk=outdated.pk)
    monkeypatch.setattr(image_trial, "choose_due", lambda _: Due.KEEP)
    Project.objects.update(generation=stale.generation + 1)
    assert not image_trial.carry_on(stale)
    assert len(copies(engine)) == 1


def test_the_old_image_and_no_other_runs_again(engine: MemoryEngine, refused: Project) -> None:
    engine.former_images.discard(OLD)
    look(2)
    row = row_of(refused)
    assert (row.failure_code, row.image_id, told(refused)[-1]) == ("image_missing", OLD, "failed")
    assert state_of(engine, refused) == REMEMBERED


def test_the_event_says_if_there_was_no_copy(engine: MemoryEngine, refused: Project) -> None:
    engine.drop_copy(refused.container_key)
    look(2)
    assert image_of(engine, refused) == OLD
    assert "no copy" in Event.objects.get(project_id=refused.pk, outcome="undone").detail


def test_a_backup_during_a_rollback_reads_the_copy(
    engine: MemoryEngine, refused: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory,) = list_memories()
    assert b"".join(read_memory(memory)) == SPOILED
    with monkeypatch.context() as patch:
        refuse(engine, patch, "return_copy")
        look(1)
    assert b"".join(read_memory(memory)) == REMEMBERED
