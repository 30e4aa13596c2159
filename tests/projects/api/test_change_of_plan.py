"""PATCH /api/projects/{id} with another plan: its limits apply."""

from collections.abc import Callable
from typing import Any

from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.commands import Change


def test_the_limit_of_the_new_plan_counts(deploy: Callable[..., Project], api: APIClient) -> None:
    one, two = deploy(), deploy(telegramToken="5:other")
    assert api.patch(f"/api/projects/{one.id}", {"plan": "free"}).status_code == 200
    assert_problem(api.patch(f"/api/projects/{two.id}", {"plan": "free"}), 403, "plan_limit_reached")
    two.refresh_from_db()
    assert two.plan_id == "pro"


def test_choosing_the_current_plan_changes_nothing(deploy: Callable[..., Project], api: APIClient) -> None:
    project = deploy()
    Plan.objects.filter(slug="pro").update(max_projects=1)
    assert api.patch(f"/api/projects/{project.id}", {"plan": "pro"}).status_code == 200


def test_another_owners_projects_do_not_count(change: Change, bobs_api: APIClient, body: dict[str, Any]) -> None:
    assert bobs_api.post("/api/projects", body | {"telegramToken": "5:bobs"}).status_code == 201
    assert change(plan="free").status_code == 200


def test_a_plan_with_too_little_memory_for_the_type_is_refused(change: Change) -> None:
    AgentType.objects.update(min_memory_mb=257)
    answer = change(plan="free")
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("plan", "plan_too_small")}


def test_a_withdrawn_plan_may_be_kept_but_not_chosen(change: Change) -> None:
    Plan.objects.filter(slug__in=["pro", "starter"]).update(available=False)
    assert change(name="Renamed").status_code == 200
    assert codes_of(change(plan="starter")) == {("plan", "unknown_choice")}
