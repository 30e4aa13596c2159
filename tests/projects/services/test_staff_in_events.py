"""Owners see what staff did to their projects, but not which member of staff or from where."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Event, Project
from tests.factories import UserFactory

ADDRESS = "203.0.113.99"
ACTIONS = ("suspend", "lift_suspension", "stop", "start", "restart")


@pytest.fixture
def staff(db: None) -> User:
    return UserFactory.create(email="mallory@staff.example", admin=True)


@pytest.fixture
def acted(project: Project, staff: User) -> list[Event]:
    """The events of every action of the admin."""
    client = Client(REMOTE_ADDR=ADDRESS)
    client.force_login(staff)
    page = client.get("/admin/projects/project/").content.decode()
    for action in ACTIONS:
        if f'value="{action}"' in page:
            fields = {"action": action, "_selected_action": str(project.pk)}
            client.post("/admin/projects/project/", {**fields, "confirmed": "yes", "confirm": "yes"}, follow=True)
    events = list(Event.objects.filter(project_id=project.pk, source="admin"))
    assert len({event.action for event in events}) >= 2
    return events


def test_the_api_shows_staff_and_no_address(api: APIClient, project: Project, acted: list[Event], staff: User) -> None:
    answer = api.get(f"/api/projects/{project.pk}/events")
    shown = [event for event in answer.json() if event["source"] == "admin"]
    assert len(shown) == len(acted)
    assert {(event["actor"], event["address"]) for event in shown} == {("staff", None)}
    assert staff.email not in answer.content.decode()
    assert ADDRESS not in answer.content.decode()


def test_no_page_or_answer_shows_owners_which_staff_member_acted(
    api: APIClient, alice: User, project: Project, acted: list[Event], staff: User
) -> None:
    client = Client()
    client.force_login(alice)
    answers: list[Any] = [client.get("/"), client.get(f"/projects/{project.pk}")]
    answers += [api.get(f"/api/projects/{project.pk}{end}") for end in ("", "/events", "/logs", "/stats")]
    for answer in answers:
        text = answer.content.decode()
        assert staff.email not in text
        assert ADDRESS not in text


def test_owners_see_their_own_email_and_ip_address(api: APIClient, alice: User, project: Project) -> None:
    api.post(f"/api/projects/{project.pk}/control", {"action": "stop"}, REMOTE_ADDR="198.51.100.7")
    [event] = [event for event in api.get(f"/api/projects/{project.pk}/events").json() if event["action"] == "stop"]
    assert (event["actor"], event["address"]) == (alice.email, "198.51.100.7")


def test_staff_see_which_staff_member_acted(acted: list[Event], staff: User) -> None:
    assert {(event.actor, event.address) for event in acted} == {(staff.email, ADDRESS)}
