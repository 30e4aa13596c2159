"""A row names the image that its agent runs, also if the process that started it was killed, or got no answer."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from projects.models import Project
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NEW, OLD, image_of, look, path_of

pytestmark = pytest.mark.one_database


class Killed(BaseException):
    """The process ends here."""


def command(action: str) -> Callable[[APIClient, Project], object]:
    return lambda api, project: api.post(f"{path_of(project)}/control", {"action": action})


def clear(api: APIClient, project: Project) -> None:
    api.delete(f"{path_of(project)}/memory")


def stopped_and_started(api: APIClient, project: Project) -> None:
    command("stop")(api, project)
    command("start")(api, project)


VERBS: dict[str, Callable[[APIClient, Project], object]] = {
    "restart": command("restart"),
    "start": stopped_and_started,
    "clear": clear,
}


def lost_after_deploy(
    engine: MemoryEngine, patch: pytest.MonkeyPatch, act: Callable[[], object], error: type[BaseException] = Killed
) -> None:
    real = engine.deploy

    def deploy(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise error

    with patch.context() as patched:
        patched.setattr(engine, "deploy", deploy)
        with suppress(error):
            act()
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now())


@pytest.mark.parametrize("error", [Killed, EngineUnavailableError])
@pytest.mark.parametrize("verb", [*VERBS, "recreate"])
def test_an_agent_whose_image_was_lost_has_the_newest_one(
    api: APIClient,
    engine: MemoryEngine,
    outdated: Project,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    error: type[BaseException],
) -> None:
    """An update has nothing to do: otherwise the way back from it would lead to the image that is lost."""
    engine.former_images.clear()
    if verb == "recreate":
        engine.vanish(outdated.container_name)
        lost_after_deploy(engine, monkeypatch, lambda: look(1), error)
    else:
        lost_after_deploy(engine, monkeypatch, lambda: VERBS[verb](api, outdated), error)
    look(2)
    assert (image_of(engine, outdated), Project.objects.get(pk=outdated.pk).image_id) == (NEW, NEW)
    assert api.get(path_of(outdated)).json()["image"]["update_available"] is False
    assert api.post(f"{path_of(outdated)}/update").status_code == 200


def test_a_new_agent_keeps_its_image(
    api: APIClient, engine: MemoryEngine, outdated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = PROJECT | {"name": "Another", "telegramToken": "555:a-free-bot"}
    lost_after_deploy(engine, monkeypatch, lambda: api.post("/api/projects", body))
    look(2)
    project = Project.objects.get(name="Another")
    assert (project.operation, project.image_id) == ("", NEW)


def test_a_container_of_an_earlier_start_says_nothing_about_the_next_one(
    engine: MemoryEngine, outdated: Project
) -> None:
    """The image has been chosen, and a killed process has not yet replaced the container."""
    Project.objects.update(generation=outdated.generation + 1, image_id=NEW)
    look(1)
    assert image_of(engine, outdated) == NEW
    assert OLD != NEW
