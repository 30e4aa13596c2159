"""The page of a project: its events as sentences and as a file, and a status that no old success contradicts."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from projects.models import Actor, AgentType, Event, Project
from projects.rules.status.lifecycle import Action
from projects.services import control_project
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import path_of, press, text_of

pytestmark = pytest.mark.one_database
STAFF = Actor(label="mallory@staff.example", source="admin", address="203.0.113.9")


def test_events_can_be_filtered_by_action(dashboard: Client, project: Project) -> None:
    press(dashboard, project, "stop")
    answer = dashboard.get(path_of(project), {"event": "stop"})
    table = answer.content.decode().partition('<table class="events">')[2]
    assert "Stopped" in table
    assert "Deployed" not in table
    assert f'href="{path_of(project)}/events.csv?event=stop"' in answer.content.decode()
    for unknown in ("nothing", "\0", "x" * 500):
        assert "Deployed" in text_of(dashboard.get(path_of(project), {"event": unknown}))


def read_csv(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_events_come_as_a_file_in_which_staff_stay_staff_and_nothing_is_a_formula(
    dashboard: Client, project: Project
) -> None:
    control_project(project=project, action=Action.STOP, actor=STAFF)
    told = {"project_id": project.pk, "owner_id": project.owner_id, "action": "update", "outcome": "done"}
    Event.objects.create(**told, actor="a@example.com", source="=cmd()", detail='changed: "name", b\r\nx')
    rows = read_csv(dashboard.get(path_of(project, "/events.csv")))
    assert [row["action"] for row in rows] == ["update", "stop", "deploy"]
    assert (rows[0]["source"], rows[0]["detail"]) == ("'=cmd()", 'changed: "name", b\r\nx')
    assert (rows[1]["actor"], rows[1]["address"], rows[1]["sentence"]) == ("staff", "", "Stopped")
    assert rows[2]["at"].endswith("Z")
    only = read_csv(dashboard.get(path_of(project, "/events.csv"), {"event": "stop"}))
    assert [row["action"] for row in only] == ["stop"]
    assert read_csv(dashboard.get(path_of(project, "/events.csv"), {"event": "\0nothing"})) == []


def test_no_success_message_contradicts_the_status(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    press(dashboard, project, "restart")
    engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    text = text_of(dashboard.get(path_of(project)))
    assert "Telegram refused the bot token." in text
    assert "is restarted." not in text
    press(dashboard, project, "start")
    assert "is started." in text_of(dashboard.get(path_of(project)))


def test_status_and_next_step_agree(dashboard: Client, project: Project) -> None:
    assert "The agent is ready. Write to its bot." in text_of(dashboard.get(path_of(project)))
    press(dashboard, project, "stop")
    assert "settings are kept. Start it." in text_of(dashboard.get(path_of(project)))


def test_a_duplicate_begins_with_nothing_that_would_be_read_as_something_else(
    dashboard: Client, project: Project
) -> None:
    properties = {"rules": {"type": "array", "items": {"type": "string"}}, "tone": {"type": "string"}}
    AgentType.objects.update(settings_schema={"type": "object", "properties": properties})
    Project.objects.update(settings={"rules": ["one\ntwo", "three"], "tone": "kind"})
    form = dashboard.get("/projects/new", {"from": str(project.pk)}).context["form"]
    assert (form["rules"].value(), form["tone"].value()) == ("", "kind")
    assert "not copied" in form["rules"].help_text
    assert "not copied" not in form["tone"].help_text
    Project.objects.update(settings={"rules": ["one", "two"]})
    form = dashboard.get("/projects/new", {"from": str(project.pk)}).context["form"]
    assert form["rules"].value() == "one\ntwo"


def test_a_duplicate_begins_with_all_but_the_credentials(dashboard: Client, project: Project, bob: Any) -> None:
    Project.objects.update(name="x" * 64, plan="pro", settings={"model": "m-1", "allowed_users": ["@a", "7"]})
    page = dashboard.get("/projects/new", {"from": str(project.pk)})
    form = page.context["form"]
    assert form["name"].value() == "x" * 59 + " copy"
    assert (form["model"].value(), form["allowed_users"].value(), form["plan"].value()) == ("m-1", "@a\n7", "pro")
    assert project.telegram_token_hint not in page.content.decode()
    for nothing in ("", "x", "\0", str(bob.pk)):
        assert not dashboard.get("/projects/new", {"from": nothing}).context["form"]["name"].value()
    stranger = Client()
    stranger.force_login(bob)
    assert not stranger.get("/projects/new", {"from": str(project.pk)}).context["form"]["name"].value()
