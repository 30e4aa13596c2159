"""A suspension that comes while something else is under way holds all the same."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from containers.errors import EngineRefusedError
from projects.errors import ProjectError, ProjectSuspendedError
from projects.models import Actor, Project
from projects.services import delete_project, lift_suspension, suspend_project
from tests.chaos.races.racing import at_once
from tests.clients import api_of, make_person
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.services.races import once
from tests.security.populated_service import PopulatedService
from tests.security.suspending import STAFF, suspend


def test_a_stop_by_the_owner_during_a_suspension_leaves_it_stopped(service: PopulatedService) -> None:
    """A stop takes nothing from the staff, and stands when the suspension is lifted."""
    suspend(service)
    client, path = api_of(service.alice), f"/api/projects/{service.project.pk}"
    assert client.post(f"{path}/control", {"action": "stop"}).json()["status"] == "suspended"
    lift_suspension(project=Project.objects.get(), actor=STAFF)
    assert client.get(path).json()["status"] == "stopped"
    assert client.delete(path).status_code == 204


def test_a_deletion_during_a_suspension_is_refused(service: PopulatedService) -> None:
    client, answers = api_of(service.alice), []
    once(service.engine, "stop", lambda: answers.append(client.delete(f"/api/projects/{service.project.pk}")))
    suspend(service)
    assert_problem(answers[0], 409, "project_suspended")
    assert Project.objects.get().suspended_at


def test_a_change_during_a_suspension_is_refused(service: PopulatedService) -> None:
    client, answers = api_of(service.alice), []
    path = f"/api/projects/{service.project.pk}"
    once(service.engine, "stop", lambda: answers.append(client.patch(path, {"telegramToken": "7:free"})))
    suspend(service)
    assert_problem(answers[0], 409, "project_suspended")


def test_a_row_read_before_a_suspension_deletes_nothing_after_it(service: PopulatedService) -> None:
    before = Project.objects.select_related("owner", "agent_type").get()
    suspend(service)
    with pytest.raises(ProjectSuspendedError):
        delete_project(project=before, actor=Actor(label="alice@example.com", source="session"))
    assert Project.objects.get().suspended_at


def test_a_deploy_that_fails_during_a_suspension_stays_suspended(engine: MemoryEngine, alice: User) -> None:
    once(engine, "deploy.start", lambda: suspend_project(project=Project.objects.get(), actor=STAFF))
    engine.fail("deploy.start", EngineRefusedError)
    answer = api_of(alice).post("/api/projects", PROJECT)
    assert answer.status_code < 500
    assert Project.objects.get().suspended_at
    assert not any(container.is_up for container in engine.containers.values())


@pytest.mark.django_db(transaction=True)
def test_after_a_suspension_and_deletions_at_once_it_is_gone_or_suspended(engine: MemoryEngine) -> None:
    alice = make_person("alice")
    client = api_of(alice)
    for token in range(1, 7):
        project = deploy_project(client, telegramToken=f"{token}:abc", name=str(uuid4()))

        def act(index: int, project: Project = project) -> Any:
            if index:
                return api_of(alice).delete(f"/api/projects/{project.pk}").status_code
            try:
                return suspend_project(project=Project.objects.get(pk=project.pk), actor=STAFF)
            except (ProjectError, Project.DoesNotExist):
                return None

        held, *answers = at_once(4, act)
        row = Project.objects.filter(pk=project.pk).first()
        if isinstance(held, Project):
            assert row, answers
            assert row.suspended_at
            assert row.bot_id == token
            assert set(answers) == {409}
        else:
            assert row is None
            assert 204 in answers
