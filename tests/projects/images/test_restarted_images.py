"""New images that the engine keeps restarting, or whose machine does not answer."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from containers.vocabulary import ContainerState
from projects.models import Event, Project
from projects.services.images.rollback import TRIES, go_back
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state
from tests.projects.images.updating import OLD, REMEMBERED, image_of, late, look, path_of, told

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("exit_code", "said"),
    [(40, "The new image ended, so"), (1, "The new image ended, so"), (None, "The new image does not run, so")],
)
def test_an_image_that_the_engine_keeps_restarting_is_not_said_to_have_been_slow(
    api: APIClient, engine: MemoryEngine, outdated: Project, exit_code: int | None, said: str
) -> None:
    """Without an exit code it has not been started: on a Swarm, it waits for its machine."""
    api.post(f"{path_of(outdated)}/update")
    reconcile()
    seen = Project.objects.get(pk=outdated.pk)
    seen.container_state, seen.exit_code = ContainerState.RESTARTING, exit_code
    assert go_back(seen)
    assert Event.objects.get(project_id=outdated.pk, outcome="given up").detail.startswith(said)
    assert image_of(engine, outdated) == OLD


def test_a_machine_that_was_silent_for_long_is_no_failure_of_the_rollback(
    api: APIClient, engine: MemoryEngine, outdated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the loss of a node of a Swarm, which has the memory and the copy."""
    api.post(f"{path_of(outdated)}/update")
    engine.ready_after_deploy = False
    look(1)
    late(outdated)
    engine.ready_after_deploy = True
    engine.states[f"{outdated.container_name}-data"] = pack_state({"memory": "spoiled"})

    def refuse(*_: Any, **__: Any) -> None:
        raise EngineRefusedError("Something is in the way.")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "return_copy", refuse)
        look(1)
        Project.objects.update(reconcile_failures=TRIES + 5, reconcile_error="ContainerSilentError")
        for failures in (1, 2):
            Project.objects.update(reconcile_again_at=timezone.now())
            look(1)
            row = Project.objects.get(pk=outdated.pk)
            assert (row.update_step, row.reconcile_failures) == ("back", failures)
    Project.objects.update(reconcile_again_at=timezone.now())
    look(1)
    assert (told(outdated)[-1], engine.states[f"{outdated.container_name}-data"]) == ("undone", REMEMBERED)
