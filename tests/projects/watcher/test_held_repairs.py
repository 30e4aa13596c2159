"""While repairs are held, an ended agent is `crashed`, because nothing starts it again but its owner."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import clock
from projects.models import Event, Project, Watch
from projects.models.rows.change_marks import read_marks
from projects.models.rows.project import OwnRows, read_own_project
from projects.models.rows.versions import are_numbered
from projects.services.staff.status_counts import count_projects
from projects.watcher.leader import beat, become_leader
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.django_db
KILLED = "The agent was killed (exit code 137), by someone or because memory ran out."


@pytest.fixture
def look(still_clock: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A round of the watcher, whose repairs other threads have not begun yet."""

    def look() -> None:
        assert become_leader("tests")
        beat("tests", reconcile(hand_over=lambda *_: None).at)

    return look


@pytest.fixture
def stranger(deploy: Callable[..., Project], project: Project, engine: MemoryEngine) -> Iterator[Callable[[], None]]:
    """The engine has a container of a project of which the database has no trace. Call it to remove that."""
    other = deploy(name="Of another database", telegramToken="7:another")
    name = other.container_name
    Project.objects.filter(pk=other.pk).delete()
    Event.objects.filter(project_id=other.pk)._raw_delete("default")
    yield lambda: engine.remove(other.container_key, volumes=True)
    engine.containers.pop(name, None)


def shown(api: APIClient, project: Project) -> tuple[str, str]:
    found = api.get(f"/api/projects/{project.pk}").json()
    return found["status"], (found["status_reason"] or {"message": ""})["message"]


def test_an_agent_that_ends_while_repairs_are_held_waits_for_its_owner(
    project: Project, engine: MemoryEngine, api: APIClient, look: Any, stranger: Any
) -> None:
    engine.exit(project.container_name, 137)
    look()
    assert shown(api, project) == ("crashed", f"{KILLED} Start it again.")
    started = api.post(f"/api/projects/{project.pk}/control", {"action": "start"})
    assert started.status_code == 200
    assert started.json()["status"] in {"starting", "running"}


def test_once_repairs_go_on_it_is_tried_again(
    project: Project, engine: MemoryEngine, api: APIClient, look: Any, stranger: Any
) -> None:
    engine.exit(project.container_name, 137)
    look()
    stranger()
    look()
    assert shown(api, project) == ("restarting", f"{KILLED} It is tried again automatically.")


@pytest.mark.parametrize("restarts", [True, False])
def test_an_agent_that_the_engine_restarts_is_tried_again_also_while_repairs_are_held(
    project: Project, engine: MemoryEngine, api: APIClient, look: Any, stranger: Any, restarts: bool
) -> None:
    engine.crash(project.container_name, exit_code=1, restarting=restarts)
    look()
    assert shown(api, project)[0] == ("restarting" if restarts else "crashed")


def test_each_way_of_reading_knows_that_repairs_are_held(
    project: Project, engine: MemoryEngine, api: APIClient, look: Any
) -> None:
    engine.exit(project.container_name, 137)
    look()
    for held, status in ((False, "restarting"), (True, "crashed"), (False, "restarting")):
        Watch.objects.update(holds_repairs=held)
        now, owner = clock.now(), project.owner
        whole = Project.objects.with_heartbeat().select_related("owner").get()
        one = read_own_project(owner, project.pk)
        (row,) = OwnRows(owner.pk)[:]
        assert one is not None
        assert whole.facts(now) == one.facts(now) == row.facts(now)
        assert whole.facts(now).is_watched is not held
        assert count_projects() == {("assistant", status): 1}
        (listed,) = api.get("/api/projects").json()
        assert (listed["status"], shown(api, project)[0]) == (status, status)
        if are_numbered():
            marks = read_marks(owner.pk)
            assert marks is not None
            assert (marks.versions.watched_until is None) is held


def test_a_remembered_answer_is_not_repeated_once_repairs_are_held(
    project: Project, engine: MemoryEngine, api: APIClient, look: Any
) -> None:
    engine.exit(project.container_name, 137)
    look()
    for _ in range(2):
        first = api.get("/api/projects")
    Watch.objects.update(holds_repairs=True)
    for _ in range(2):
        answer = api.get("/api/projects", HTTP_IF_NONE_MATCH=first["ETag"])
        assert (answer.status_code, answer.json()[0]["status"]) == (200, "crashed")
