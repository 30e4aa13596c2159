"""The budget that an owner sets: at most what the plan gives, and in force at once."""

from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Allowance, Plan, Project
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of

pytestmark = pytest.mark.django_db
NO_BUDGET = {"day_tokens": None, "month_tokens": None, "day_money": None, "month_money": None}


def test_a_plan_shows_its_budget(api: APIClient) -> None:
    Plan.objects.filter(slug="free").update(**{**NO_BUDGET, "day_tokens": 100, "month_money": Decimal("7.5")})
    plans = {plan["slug"]: plan for plan in api.get("/api/plans").json()}
    assert plans["free"]["budget"] == NO_BUDGET | {"day_tokens": 100, "month_money": "7.50"}


def test_an_owner_sets_less_than_the_plan_gives(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    Plan.objects.filter(slug="free").update(**{**NO_BUDGET, "day_tokens": 100, "month_money": Decimal(9)})
    own = {"day_tokens": 50, "month_tokens": 10, "month_money": "2.5"}
    detail = api.post("/api/projects", body | {"budget": own}).json()
    assert detail["usage"]["budget"] == NO_BUDGET | own | {"month_money": "2.50"}
    path = f"/api/projects/{detail['id']}"
    changed = api.patch(path, {"budget": {"day_tokens": 100, "month_tokens": None}}).json()
    assert changed["usage"]["budget"] == NO_BUDGET | {"day_tokens": 100, "month_money": "2.50"}
    assert entry_of(engine, Project.objects.get())["budget"]["month_money"] == 2_500_000
    event = api.get(f"{path}/events").json()[0]
    assert event["detail"] == "changed: budget.day_tokens, budget.month_tokens"


@pytest.mark.parametrize("verb", ["create", "validate", "change"])
@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({"day_tokens": 101}, "budget.day_tokens"),
        ({"month_money": "9.01"}, "budget.month_money"),
        ({"day_tokens": -1}, "budget.day_tokens"),
        ({"day_tokens": True}, "budget.day_tokens"),
        ({"day_tokens": 1.0}, "budget.day_tokens"),
        ({"day_tokens": "5"}, "budget.day_tokens"),
        ({"month_tokens": 10**15 + 1}, "budget.month_tokens"),
        ({"month_money": 5}, "budget.month_money"),
        ({"month_money": "-1"}, "budget.month_money"),
        ({"month_money": "1.001"}, "budget.month_money"),
        ({"month_money": "NaN"}, "budget.month_money"),
        ({"month_money": "1e3"}, "budget.month_money"),
        ({"month_money": "\u0661"}, "budget.month_money"),
        ({"month_money": "5\n"}, "budget.month_money"),
        ({"year_tokens": 5}, "budget.year_tokens"),
        ([], "budget"),
        (None, "budget"),
        ("5", "budget"),
    ],
)
def test_an_invalid_or_too_large_budget_is_refused(
    api: APIClient, body: dict[str, Any], project: Project, verb: str, budget: Any, field: str
) -> None:
    Plan.objects.update(**{**NO_BUDGET, "day_tokens": 100, "month_money": Decimal(9)})
    wanted = body | {"plan": "pro", "telegramToken": "555:a-free-bot", "budget": budget}
    match verb:
        case "create":
            answer = api.post("/api/projects", wanted)
        case "validate":
            answer = api.post("/api/projects/validate", wanted)
        case _:
            answer = api.patch(f"/api/projects/{project.pk}", {"budget": budget})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith(field)
    assert Project.objects.count() == 1


def test_changing_to_a_smaller_plan_removes_a_larger_budget(api: APIClient, project: Project, alice: User) -> None:
    """The owner's limits are kept until a plan gives as much again."""
    Plan.objects.filter(slug="pro").update(**{**NO_BUDGET, "day_tokens": 100})
    Plan.objects.filter(slug="starter").update(**{**NO_BUDGET, "day_tokens": 10})
    Allowance.objects.get_or_create(user=alice, plan_id="starter")
    api.patch(f"/api/projects/{project.pk}", {"budget": {"day_tokens": 80}})
    small = api.patch(f"/api/projects/{project.pk}", {"plan": "starter"}).json()
    assert small["usage"]["budget"]["day_tokens"] == 10
    assert Project.objects.get().own_day_tokens == 80
