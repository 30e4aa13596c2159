"""A watcher that is killed during an update of an image, at each engine call."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NEW, OLD, REMEMBERED, copies, image_of, late, look, path_of, told

pytestmark = pytest.mark.one_database

INSIDE = {"keep_copy": "keep_copy.fill", "return_copy": "return_copy.fill"}
"""Points at which the copy, or the state, is incomplete."""

KILLED_IN = [
    *[(call, False) for call in ("stop", "keep_copy", "deploy", "drop_copy")],
    *[(call, True) for call in ("stop", "remove", "return_copy", "deploy", "drop_copy")],
]


class Killed(BaseException):
    """The watcher's process ends here."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("where", ["before", "inside", "after"])
@pytest.mark.parametrize(("call", "is_way_back"), KILLED_IN)
def test_a_watcher_that_is_killed_anywhere_loses_nothing(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    *,
    is_way_back: bool,
    where: str,
) -> None:
    if where == "inside" and call not in INSIDE:
        pytest.skip("It is one step for the engine.")
    api.post(f"{path_of(outdated)}/update")
    if is_way_back:
        engine.ready_after_deploy = False
        look(1)
        late(outdated)
        engine.ready_after_deploy = True
    real = getattr(engine, call)

    def kill(*args: Any, **options: Any) -> Any:
        if where == "inside":
            patch.setattr(engine, "_step", kill_at)
        if where != "before":
            real(*args, **options)
        raise Killed

    def kill_at(step: str) -> None:
        if step == INSIDE[call]:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(engine, call, kill)
        with pytest.raises(Killed):
            look(3)
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now())
    look(4)
    project = Project.objects.get(pk=outdated.pk)
    image = image_of(engine, outdated)
    assert (project.update_step, project.former_image_id, copies(engine), project.image_id) == ("", "", [], image)
    assert image == OLD if is_way_back else image in {OLD, NEW}
    assert told(outdated)[-1] == ("done" if image == NEW else "undone")
    assert engine.states[f"{outdated.container_name}-data"] == REMEMBERED
    assert api.get(path_of(outdated)).json()["status"] == "running"
