"""Images on the pages: the owner's button, and what staff see and decide."""

import pytest
from django.test import Client

from accounts.models import User
from projects.models import AgentType, Project
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NEW, OLD, image_of, told

pytestmark = pytest.mark.one_database

TYPE = "/admin/projects/agenttype/assistant/change/"


@pytest.fixture
def page(alice: User) -> Client:
    return browser_of(alice)


def text(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def act(admin: Client, action: str, project: Project) -> str:
    form = {"action": action, "_selected_action": [str(project.pk)]}
    return admin.post("/admin/projects/project/", form, follow=True).content.decode()


def test_the_button_is_there_while_there_is_a_newer_image(
    page: Client, engine: MemoryEngine, outdated: Project
) -> None:
    path = f"/projects/{outdated.pk}"
    assert 'id="update-image"' in text(page, path)
    assert "there is a newer one" in text(page, path)
    answer = page.post(f"{path}/update", follow=True)
    assert "gets the newest image of its type" in answer.content.decode()
    assert "a new one is being tested" in text(page, path)
    assert 'id="update-image"' not in text(page, path)
    for _ in range(2):
        reconcile()
    assert image_of(engine, outdated) == NEW
    assert "there is a newer one" not in text(page, path)
    assert "has the newest image" in page.post(f"{path}/update", follow=True).content.decode()
    assert page.get(f"{path}/update").status_code == 302


def test_the_stranger_and_the_refusal(page: Client, bob: User, engine: MemoryEngine, outdated: Project) -> None:
    path = f"/projects/{outdated.pk}/update"
    assert browser_of(bob).post(path).status_code == 404
    Project.objects.update(keeps_image=True)
    answer = page.post(path)
    assert (answer.status_code, "keeps its image" in answer.content.decode()) == (409, True)
    assert 'id="update-image"' not in text(page, f"/projects/{outdated.pk}")


def test_staff_update_many_agents_with_a_result_for_each_and_pin_one(
    sam: User, engine: MemoryEngine, outdated: Project
) -> None:
    admin = browser_of(sam)
    assert "There is a newer one." in text(admin, f"/admin/projects/project/{outdated.pk}/change/")
    assert "1 run the old image." in text(admin, TYPE)
    act(admin, "pin_images", outdated)
    assert "Ask them." in act(admin, "update_images", outdated)
    assert "Pinned." in text(admin, f"/admin/projects/project/{outdated.pk}/change/")
    assert image_of(engine, outdated) == OLD
    act(admin, "release_images", outdated)
    assert f"{outdated.name}: It gets the newest image" in act(admin, "update_images", outdated)
    for _ in range(2):
        reconcile()
    assert told(outdated) == ["pinned", "failed", "released", "recorded", "started", "done"]
    assert f"{outdated.name}: It has the newest image" in act(admin, "update_images", outdated)
    assert "0 run the old image." in text(admin, TYPE)


def test_the_time_for_a_new_image_is_the_types(ada: User, engine: MemoryEngine, outdated: Project) -> None:
    assert 'name="ready_timeout"' in text(browser_of(ada), TYPE)
    AgentType.objects.update(ready_timeout=300)
    Project.objects.update(update_step="copy", next_image_id=NEW)
    engine.ready_after_deploy = False
    reconcile()
    row = Project.objects.get(pk=outdated.pk)
    assert row.update_until is not None
    assert row.observed_at is not None
    assert 290 < (row.update_until - row.observed_at).total_seconds() < 310
