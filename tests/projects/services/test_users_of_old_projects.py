"""A project from when all agents had one user gets a number of its own with its next deploy."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from projects.models.agent_user import LOWEST
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.services.agent_users import Deploy, token, user_in
from tests.projects.services.races import beat


@pytest.fixture
def old(project: Project, engine: MemoryEngine) -> Project:
    """A project as an older Berth left it: without a user of its own,
    and with a container that runs as everyone's user."""
    Project.objects.update(uid=None)
    project.refresh_from_db()
    return project


def restart(api: APIClient, project: Project) -> None:
    assert api.post(f"/api/projects/{project.id}/control", {"action": "restart"}).status_code == 200


def stop_and_start(api: APIClient, project: Project) -> None:
    for action in ("stop", "start"):
        assert api.post(f"/api/projects/{project.id}/control", {"action": action}).status_code == 200


def change(api: APIClient, project: Project) -> None:
    changed = {"settings": {"model": "another"}}
    assert api.patch(f"/api/projects/{project.id}?restart=true", changed).status_code == 200


@pytest.mark.parametrize("act", [restart, stop_and_start, change])
def test_an_old_project_gets_a_user_with_its_next_deploy(
    act: Callable[[APIClient, Project], None], old: Project, api: APIClient, engine: MemoryEngine
) -> None:
    act(api, old)
    old.refresh_from_db()
    assert old.uid is not None
    assert old.uid >= LOWEST
    assert user_in(engine, old) == old.uid
    given_once = old.uid
    restart(api, old)
    old.refresh_from_db()
    assert old.uid == given_once


def test_an_old_project_recreated_by_the_watcher_gets_a_user(old: Project, engine: MemoryEngine) -> None:
    engine.vanish(old.container_name)
    beat(seconds=0)
    reconcile()
    old.refresh_from_db()
    assert old.uid is not None
    assert user_in(engine, old) == old.uid


def test_an_old_project_is_unchanged_until_its_next_deploy(old: Project, api: APIClient) -> None:
    assert api.get(f"/api/projects/{old.id}").json()["status"] == "running"
    reconcile()
    old.refresh_from_db()
    assert old.uid is None


def test_an_older_server_may_still_create_projects_without_a_user(deploy: Deploy) -> None:
    """Several rows without a number do not conflict."""
    deploy(telegramToken=token(1))
    deploy(telegramToken=token(2))
    assert Project.objects.update(uid=None) == 2


@pytest.mark.django_db(transaction=True)
def test_two_deploys_of_an_old_project_agree_on_its_user(project: Project) -> None:
    Project.objects.update(uid=None)
    same = [Project.objects.get(pk=project.pk) for _ in range(2)]
    for each in same:
        each.change_uid()
    assert same[0].uid == same[1].uid == Project.objects.get().uid
