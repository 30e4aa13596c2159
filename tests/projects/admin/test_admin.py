"""Projects and the catalogue in the admin."""

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Event, Project
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


def test_the_status_is_the_engine_s_current_state(admin: Client, project: Project, engine: MemoryEngine) -> None:
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
    assert f"{project.name}: Stopped." in act(admin, "stop", project)
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


def test_a_refused_action_is_explained(admin: Client, project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    assert "does not answer" in act(admin, "start", project)


def test_deleting_removes_the_container_and_its_state(admin: Client, project: Project, engine: MemoryEngine) -> None:
    asked = act(admin, "delete_projects", project)
    assert f"{project.name}, of alice@example.com" in asked
    assert Project.objects.exists()
    act(admin, "delete_projects", project, confirm=project.name)
    assert not Project.objects.exists()
    assert not engine.containers
    assert not engine.volumes


def test_what_looks_like_the_name_confirms(admin: Client, project: Project) -> None:
    Project.objects.update(name="Two  cafe\u0301s")
    act(admin, "delete_projects", project, confirm="Two caf\u00e9s")
    assert not Project.objects.exists()


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
def test_a_settings_schema_must_be_valid(schema: str, sentence: str, ada: User) -> None:
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


@pytest.mark.parametrize("kept", ["plan/pro", "agenttype/assistant"])
def test_deleting_a_plan_in_use_explains_how_to_withdraw_it(ada: User, project: Project, kept: str) -> None:
    page = browser_of(ada).get(f"/admin/projects/{kept}/delete/").content.decode()
    assert "is in use, and cannot be deleted." in page
    assert f"/admin/projects/{kept}/change/" in page
