"""A setting that is typed as JSON is stored as typed, with both forms."""

import json
from typing import Any

import pytest
from django.test import Client

from projects.dashboard.forms.setting_fields import NULL_INSIDE
from projects.models import AgentType, Project
from tests.projects.dashboard.pages import Fields, path_of, text_of

SCHEMA: dict[str, Any] = {"properties": {"mcp": {"type": "object"}}, "additionalProperties": False}


@pytest.fixture
def own(db: None) -> AgentType:
    return AgentType.objects.create(slug="own", title="Own", image="berth/assistant:latest", settings_schema=SCHEMA)


@pytest.fixture
def filled(own: AgentType, fields: Fields) -> Fields:
    rest = {name: value for name, value in fields.items() if name not in ("instructions", "model", "allowed_users")}
    return {**rest, "type": "own", "shown_type": "own"}


def test_a_new_project_keeps_a_null_inside(dashboard: Client, filled: Fields) -> None:
    dashboard.post("/projects/new", {**filled, "mcp": '{"a": {"b": null}}'})
    assert Project.objects.get().settings == {"mcp": {"a": {"b": None}}}


def test_a_change_removes_omitted_settings_and_refuses_nested_null(dashboard: Client, filled: Fields) -> None:
    dashboard.post("/projects/new", {**filled, "mcp": '{"headers": {"a": 1, "b": 2}}'})
    project = Project.objects.get()
    path = path_of(project, "/change")
    sent = {"name": project.name, "plan": project.plan_id}
    for typed in ({"headers": {"a": 1}}, {"headers": {"a": True}}, {}):
        assert dashboard.post(path, {**sent, "mcp": json.dumps(typed)}).status_code == 302
        project.refresh_from_db()
        assert json.dumps(project.settings) == json.dumps({"mcp": typed})
    refused = dashboard.post(path, {**sent, "mcp": '{"a": null}'})
    assert NULL_INSIDE in text_of(refused)
    project.refresh_from_db()
    assert project.settings == {"mcp": {}}
