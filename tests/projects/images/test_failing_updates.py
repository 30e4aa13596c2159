"""An engine that fails during an update of an image, at each call: it refuses, does not answer, or loses its answer."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project
from projects.rules.status.image_update import Step
from tests.fakes.engine import MemoryEngine
from tests.projects.images.test_killed_updates import KILLED_IN
from tests.projects.images.updating import NEW, OLD, REMEMBERED, copies, image_of, late, look, path_of, told

pytestmark = [pytest.mark.one_database, pytest.mark.sampled(9)]

FAILURES = {
    "refuses": (EngineRefusedError("The engine says no."), False),
    "is silent": (EngineUnavailableError(), False),
    "loses its answer": (EngineUnavailableError(), True),
}


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize(("call", "is_way_back"), KILLED_IN)
def test_an_engine_that_fails_anywhere_loses_nothing(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    *,
    is_way_back: bool,
    how: str,
) -> None:
    api.post(f"{path_of(outdated)}/update")
    if is_way_back:
        engine.ready_after_deploy = False
        look(1)
        late(outdated)
        engine.ready_after_deploy = True
    real, (error, is_done) = getattr(engine, call), FAILURES[how]

    def fail(*args: Any, **options: Any) -> Any:
        if is_done:
            real(*args, **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(engine, call, fail)
        for _ in range(3):
            try:
                look(1)
            except EngineUnavailableError:
                continue  # it ends the round, and the watcher continues with the next one
        assert api.get(path_of(outdated)).status_code == 200
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now())
    for _ in range(4):
        Project.objects.update(reconcile_again_at=timezone.now())  # it pauses after failures
        Project.objects.filter(update_step=Step.DROP).update(update_until=timezone.now())
        look(1)
    if api.get(path_of(outdated)).json()["status"] == "failed":  # the owner has to repeat what the engine has refused
        assert (call, how) == ("deploy", "refuses")
        assert api.post(f"{path_of(outdated)}/control", {"action": "start"}).status_code == 200
        Project.objects.filter(update_step=Step.DROP).update(update_until=timezone.now())
        look(2)
    project = Project.objects.get(pk=outdated.pk)
    image = image_of(engine, outdated)
    assert (project.update_step, project.former_image_id, copies(engine), project.image_id) == ("", "", [], image)
    assert image == OLD if is_way_back else image in {OLD, NEW}
    assert told(outdated)[-1] in ({"done"} if image == NEW else {"undone", "not tried", "failed"})
    assert engine.states[f"{outdated.container_name}-data"] == REMEMBERED
    assert len(engine.containers) == 1
    assert api.get(path_of(outdated)).json()["status"] == "running"
