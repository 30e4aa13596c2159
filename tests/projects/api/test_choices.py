"""Which plan and type a new project gets: the ones it names, else the defaults."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import codes_of, errors_of


@pytest.mark.parametrize("field", ["type", "plan"])
def test_the_default_is_used_if_none_is_named(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, field: str
) -> None:
    Plan.objects.update(is_default=False)
    Plan.objects.filter(slug="starter").update(is_default=True)
    del body[field]
    shown = api.post("/api/projects", body).json()[field]
    assert shown == {"type": "assistant", "plan": "starter"}[field]


@pytest.mark.parametrize(
    ("field", "kind", "offered"), [("plan", Plan, "free, starter, pro"), ("type", AgentType, "assistant")]
)
def test_without_a_default_one_must_be_named(
    api: APIClient, body: dict[str, Any], field: str, kind: Any, offered: str
) -> None:
    kind.objects.update(is_default=False)
    chosen = body.pop(field)
    [error] = errors_of(api.post("/api/projects", body))
    assert (error["field"], error["code"]) == (field, "required")
    assert error["detail"] == f"There is no default. Choose one of: {offered}."
    assert api.post("/api/projects", body | {field: chosen}).status_code == 201


@pytest.mark.parametrize("field", ["type", "plan"])
def test_an_unavailable_default_does_not_count(api: APIClient, body: dict[str, Any], field: str) -> None:
    kind: Any = {"type": AgentType, "plan": Plan}[field]
    kind.objects.filter(is_default=True).update(available=False)
    del body[field]
    assert codes_of(api.post("/api/projects", body)) == {(field, "required")}


def test_a_wrong_choice_is_answered_with_the_valid_ones(api: APIClient, body: dict[str, Any]) -> None:
    Plan.objects.filter(slug="pro").update(available=False)
    [error] = errors_of(api.post("/api/projects", body | {"plan": "gold"}))
    assert error["detail"] == "Choose one of: free, starter."


def test_a_withdrawn_plan_still_serves_its_projects(project: Project, api: APIClient) -> None:
    Plan.objects.update(available=False)
    AgentType.objects.update(available=False)
    control = api.post(f"/api/projects/{project.id}/control", {"action": "restart"})
    assert (control.status_code, control.json()["plan"]) == (200, "pro")
    assert api.get("/api/projects").json()[0]["plan"] == "pro"


@pytest.mark.parametrize("kind", [Plan, AgentType])
def test_the_database_allows_one_default(db: None, kind: Any) -> None:
    values = {"memory_mb": 64, "cpus": 1, "max_projects": 1} if kind is Plan else {"title": "X", "image": "x"}
    with pytest.raises(IntegrityError), transaction.atomic():
        kind.objects.create(slug="second", is_default=True, **values)
    second = kind.objects.create(slug="second", **values)
    second.is_default = True
    with pytest.raises(ValidationError, match="Another row is the default"):
        second.full_clean()
