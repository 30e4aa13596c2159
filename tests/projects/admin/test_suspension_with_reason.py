"""Staff give a reason for a suspension, and the project's owner reads it."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Event, Project
from tests.clients import browser_of
from tests.projects.admin.test_admin import act


@pytest.fixture
def admin(sam: User) -> Client:
    return browser_of(sam)


WHY = "Its bot sends advertisements to strangers"


def test_the_owner_reads_why_the_staff_suspended_a_project(admin: Client, project: Project, api: Any) -> None:
    act(admin, "suspend", project, reason=f"  {WHY} ")
    told = api.get(f"/api/projects/{project.pk}").json()["status_reason"]["message"]
    assert told == f"The staff suspended this project: {WHY}. Ask them to lift the suspension."
    assert WHY in browser_of(project.owner).get(f"/projects/{project.pk}").content.decode()
    assert Event.objects.filter(action="suspend", detail=WHY).count() == 1
    act(admin, "lift", project)
    assert Project.objects.get().suspended_because == ""
    act(admin, "suspend", project)
    assert api.get(f"/api/projects/{project.pk}").json()["status_reason"]["message"].startswith("The staff suspended")


@pytest.mark.parametrize("reason", ["x" * 201, "it\u202eis", "it\x00is", "a\nb"])
def test_an_invalid_reason_suspends_nothing(admin: Client, project: Project, reason: str) -> None:
    assert "Suspended." not in act(admin, "suspend", project, reason=reason)
    assert Project.objects.get().suspended_at is None
