"""Wrong settings schemas: each is refused or harmless."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Project
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.sending import as_json
from tests.projects.dashboard.pages import path_of
from tests.projects.hostile_values import VALUES
from tests.sampling import Some

MORE_OPEN: list[Any] = [True, {"properties": {"allowed_users": True}}, {"type": "object"}, {"properties": {}}]


@pytest.mark.parametrize("open_schema", MORE_OPEN)
def test_berth_s_own_settings_are_checked_under_every_open_schema(
    api: APIClient, alice: Any, project: Project, open_schema: Any
) -> None:
    AgentType.objects.update(settings_schema=open_schema)
    answer = api.post("/api/projects", PROJECT | {"settings": {"allowed_users": 5, "model": [], "x": 5}})
    assert {field for field, _ in codes_of(answer)} == {"settings.allowed_users", "settings.model"}
    dashboard = browser_of(alice)
    shown = dashboard.get(path_of(project, "/change")).context["form"].initial
    page = dashboard.post(path_of(project, "/change"), {**shown, "allowed_users": "no!"})
    assert page.status_code == 400
    assert "Entry 1 does not fit. Telegram user ids or @usernames" in page.content.decode()


@pytest.mark.parametrize("schema_of_staff", [{"$ref": "#"}, {"$ref": "#/nowhere"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_that_cannot_be_applied_is_no_500(api: APIClient, schema_of_staff: Any) -> None:
    AgentType.objects.update(settings_schema=schema_of_staff)
    answer = api.post("/api/projects", PROJECT | {"settings": {}})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("settings", "broken_schema")}


@pytest.mark.rare(1)
@pytest.mark.one_database("postgresql")
def test_staff_can_keep_no_schema_that_a_database_cannot(ada: Any, some: Some) -> None:
    """The admin's form for an agent type, with every value as the schema or inside of one, or both with `--whole`."""
    admin = browser_of(ada)
    page = "/admin/projects/agenttype/assistant/change/"
    form = admin.get(page).context["adminform"].form
    good = {name: "" if value is None else value for name, value in form.initial.items() if name != "slug"}
    for number, (kind, value) in enumerate(VALUES.items()):
        schemas: list[Any] = [value, {"description": value}, {"properties": {"model": value}}, {"const": value}]
        for schema in some(schemas, one_in=4, first=number):
            text = as_json(schema).decode()
            answer = admin.post(page, good | {"settings_schema": text})
            assert answer.status_code in {200, 302}, kind
    for text in ("", " ", "null", "[" * 30_000, "x", '{"a": 1', '""'):
        assert admin.post(page, good | {"settings_schema": text}).status_code in {200, 302}, text[:9]
        assert isinstance(AgentType.objects.get(slug="assistant").settings_schema, dict)
    assert admin.get(page).status_code == 200
