"""Projects and the catalogue in the admin."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.batch_admin import BATCH_SECONDS
from projects.models import Event, Project
from projects.services.operations import ANSWER_WITHIN
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine


@pytest.fixture
def admin(sam: User) -> Client:
    """The admin as staff see it."""
    return browser_of(sam)


def act(admin: Client, action: str, project: Project, **form: str) -> str:
    data = {"action": action, "_selected_action": [str(project.pk)], **form}
    return admin.post("/admin/projects/project/", data, follow=True).content.decode()


def test_projects_are_listed_with_their_status(admin: Client, project: Project) -> None:
    page = admin.get("/admin/projects/project/").content.decode()
    assert project.name in page
    assert "alice@example.com" in page
    assert ">Running<" in page


def test_the_status_is_the_engines_of_this_moment(admin: Client, project: Project, engine: MemoryEngine) -> None:
    Project.objects.update(observed_at=None)
    engine.crash(project.container_name, exit_code=20)
    page = admin.get(f"/admin/projects/project/{project.pk}/change/").content.decode()
    assert "Crashed" in page
    assert "Telegram refused the bot token." in page


def test_a_projects_page_shows_no_credential_not_even_encrypted(admin: Client, project: Project) -> None:
    page = admin.get(f"/admin/projects/project/{project.pk}/change/").content.decode()
    for secret in (
        CANARY_API_KEY,
        CANARY_TELEGRAM_TOKEN,
        project.api_key_ciphertext,
        project.telegram_token_ciphertext,
    ):
        assert secret not in page


def test_staff_start_stop_and_restart_through_the_same_services(
    admin: Client, project: Project, engine: MemoryEngine
) -> None:
    assert "Done: 1 of 1." in act(admin, "stop", project)
    assert engine.containers[project.container_name].state == "exited"
    act(admin, "start", project)
    assert engine.containers[project.container_name].state == "running"
    before = engine.containers[project.container_name].container_id
    act(admin, "restart", project)
    assert engine.containers[project.container_name].container_id != before
    events = Event.objects.filter(actor="sam@example.com", source="admin").values_list("action", flat=True)
    assert list(events) == ["restart", "start", "stop"]


def test_a_suspended_project_is_down_and_comes_back_when_the_suspension_is_lifted(
    admin: Client, project: Project, engine: MemoryEngine
) -> None:
    act(admin, "suspend", project)
    assert engine.containers[project.container_name].state == "exited"
    assert Project.objects.get().status == "suspended"
    assert "is suspended" in act(admin, "start", project)
    act(admin, "lift", project)
    assert Project.objects.get().status == "running"


def test_what_cannot_be_done_is_said(admin: Client, project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    assert "does not answer" in act(admin, "start", project)


def test_deleting_takes_the_container_and_its_state_along(
    admin: Client, project: Project, engine: MemoryEngine
) -> None:
    asked = act(admin, "delete_projects", project)
    assert f"{project.name}, of alice@example.com" in asked
    assert Project.objects.exists()
    act(admin, "delete_projects", project, confirm=project.name)
    assert not Project.objects.exists()
    assert not engine.containers
    assert not engine.volumes


@pytest.mark.parametrize("path", ["project/add/", "plan/add/", "agenttype/add/"])
def test_staff_add_nothing(path: str, admin: Client) -> None:
    assert admin.get(f"/admin/projects/{path}").status_code == 403


def test_admins_keep_the_catalogue(ada: User) -> None:
    client = browser_of(ada)
    fields = {"slug": "huge", "memory_mb": 4096, "cpus": "2", "pids": 256, "max_projects": 5, "available": "on"}
    answer = client.post("/admin/projects/plan/add/", fields, follow=True)
    assert "was added successfully" in answer.content.decode()


def test_there_is_one_default_plan(ada: User) -> None:
    client = browser_of(ada)
    fields = {"slug": "huge", "memory_mb": 4096, "cpus": "2", "pids": 256, "max_projects": 5, "is_default": "on"}
    assert "Another row is the default" in client.post("/admin/projects/plan/add/", fields).content.decode()


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ('{"type": 7}', "This is not a JSON Schema"),
        ('{"properties": {"model": {"pattern": "("}}}', "This is not a JSON Schema"),
        ('{"properties": {"model": {"$ref": "https://example.org/schema"}}}', "which is not in it"),
    ],
)
def test_a_settings_schema_must_be_one(schema: str, sentence: str, ada: User) -> None:
    client = browser_of(ada)
    answer = client.post("/admin/projects/agenttype/add/", {"slug": "x", "settings_schema": schema})
    assert sentence in answer.content.decode()


def test_events_are_append_only(admin: Client, project: Project) -> None:
    event = Event.objects.get()
    with pytest.raises(TypeError):
        event.save()
    with pytest.raises(TypeError):
        event.delete()
    assert admin.get("/admin/projects/event/").status_code == 200


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fleet(deploy: Callable[..., Project]) -> list[Project]:
    """Four projects, as the list of the admin has them: the newest first."""
    tokens = [f"{number}:{CANARY_TELEGRAM_TOKEN.partition(':')[2]}" for number in range(1, 5)]
    return [deploy(name=f"Ship {number}", telegramToken=token) for number, token in enumerate(tokens)][::-1]


def act_on_all(admin: Client, action: str, **form: str) -> str:
    keys = [str(pk) for pk in Project.objects.values_list("pk", flat=True)]
    data = {"action": action, "_selected_action": keys, **form}
    return admin.post("/admin/projects/project/", data, follow=True).content.decode()


def test_an_action_ends_with_its_time_and_says_what_it_has_not_reached(
    admin: Client, fleet: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [0.0]
    monkeypatch.setattr("projects.batch_admin.time", SimpleNamespace(monotonic=lambda: sum(seconds)))
    engine.slow("stop", lambda: seconds.append(20))
    page = act_on_all(admin, "stop")
    assert "Done: 2 of 4." in page
    assert "Not reached: 2 of 4. Select them again: Ship 1, Ship 0." in page
    states = [engine.containers[project.container_name].state for project in fleet]
    assert states == ["exited", "exited", "running", "running"]


def test_what_was_not_reached_can_be_run_again(
    admin: Client, fleet: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.batch_admin.BATCH_SIZE", 3)
    page = act_on_all(admin, "delete_projects", confirm="4 projects")
    assert "Not reached: 1 of 4. Select them again: Ship 0." in page
    page = act_on_all(admin, "delete_projects", confirm="Ship 0")
    assert "Done: 1 of 1." in page
    assert "Not reached" not in page
    assert not Project.objects.exists()


def test_a_long_list_of_what_was_not_reached_is_cut_short(
    admin: Client, fleet: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.batch_admin.BATCH_SIZE", 1)
    monkeypatch.setattr("projects.batch_admin.NAMES_SHOWN", 2)
    assert "Not reached: 3 of 4. Select them again: Ship 2, Ship 1 and 1 more." in act_on_all(admin, "stop")


def test_an_action_and_the_command_that_it_ends_with_fit_into_one_request(settings: Any) -> None:
    assert BATCH_SECONDS + ANSWER_WITHIN < 60
