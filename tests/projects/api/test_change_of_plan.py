"""PATCH /api/projects/{id} with another plan: its limits apply."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from projects.services.commands import update as service
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.commands import Change


def test_the_limit_of_the_new_plan_counts(deploy: Callable[..., Project], api: APIClient) -> None:
    one, two = deploy(), deploy(telegramToken="5:other")
    assert api.patch(f"/api/projects/{one.id}", {"plan": "free"}).status_code == 200
    assert_problem(api.patch(f"/api/projects/{two.id}", {"plan": "free"}), 403, "plan_limit_reached")
    two.refresh_from_db()
    assert two.plan_id == "pro"


def in_between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Acts once, after the next change has made its checks and before it writes."""
    ask, acts = service._look_then_ask, [act]

    def ask_slowly(*args: Any) -> Any:
        check = ask(*args)
        if acts:
            acts.pop()()
        return check

    monkeypatch.setattr(service, "_look_then_ask", ask_slowly)


@pytest.mark.parametrize(
    "fields", [{"plan": "free"}, {"plan": "free", "name": "New"}, {"plan": "free", "settings": {}}]
)
@pytest.mark.parametrize("takes_place", [True, False], ids=["full", "still-free"])
def test_a_plan_that_was_left_meanwhile_is_checked_like_a_new_one(
    deploy: Callable[..., Project],
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, Any],
    takes_place: bool,
) -> None:
    """It leaves the plan, and another project takes its place, before the change that names its plan is written."""
    one, two = deploy(plan="free"), deploy(telegramToken="5:other")

    def meanwhile() -> None:
        assert api.patch(f"/api/projects/{one.id}", {"plan": "starter"}).status_code == 200
        if takes_place:
            assert api.patch(f"/api/projects/{two.id}", {"plan": "free"}).status_code == 200

    in_between(monkeypatch, meanwhile)
    answer = api.patch(f"/api/projects/{one.id}", fields)
    if takes_place:
        assert (answer.status_code, answer.json()["code"]) == (403, "plan_limit_reached")
    else:
        assert answer.json()["plan"] == "free"
    assert Project.objects.filter(plan="free").count() == 1


def test_a_budget_is_checked_against_the_plan_at_the_time_of_writing(
    project: Project, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    Plan.objects.filter(slug="pro").update(day_tokens=1_000_000)
    Plan.objects.filter(slug="free").update(day_tokens=1000)
    in_between(monkeypatch, lambda: api.patch(f"/api/projects/{project.id}", {"plan": "free"}))
    answer = api.patch(f"/api/projects/{project.id}", {"budget": {"day_tokens": 500_000}})
    assert codes_of(answer) == {("budget.day_tokens", "max_value")}


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
