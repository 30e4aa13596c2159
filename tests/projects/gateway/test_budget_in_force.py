"""A budget that is spent shows in the status as soon as it is in force, whoever set it, and until it has room."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Plan, Project
from projects.rules.budget import LIMITS, Budget
from projects.services.limits.budgets import grant_budget
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.spending import Clock, shown
from tests.projects.gateway.test_budgets import STAFF

pytestmark = pytest.mark.django_db

Limit = Callable[[Project, str, Any], None]


@pytest.fixture
def own(api: Any) -> Limit:
    def own(project: Project, name: str, limit: Any) -> None:
        given = limit if limit is None or name.endswith("tokens") else str(limit)
        assert api.patch(f"/api/projects/{project.pk}", {"budget": {name: given}}).status_code == 200

    return own


@pytest.fixture
def granted() -> Limit:
    return lambda project, name, limit: grant_budget(
        project=Project.objects.get(pk=project.pk), granted=Budget(**{name: limit}), actor=STAFF
    )


@pytest.fixture
def of_plan(admin: Client) -> Limit:
    """Staff change the plan in the admin."""

    def of_plan(project: Project, name: str, limit: Any) -> None:
        url = reverse("admin:projects_plan_change", args=[project.plan_id])
        form = admin.get(url).context["adminform"].form
        known = {key: value for key in form.fields if (value := form.initial.get(key)) is not None}
        data = {key: value for key, value in known.items() if value is not False} | {name: limit}
        data = {key: "" if value is None else value for key, value in data.items()}
        answer = admin.post(url, data)
        assert answer.status_code == 302, answer.context["adminform"].form.errors

    return of_plan


@pytest.fixture
def of_another_plan(api: Any) -> Limit:
    """The project changes to a plan with this limit."""

    def of_another_plan(project: Project, name: str, limit: Any) -> None:
        other = "starter" if Project.objects.get(pk=project.pk).plan_id == project.plan_id else project.plan_id
        Plan.objects.filter(slug=other).update(**dict.fromkeys(LIMITS) | {name: limit})
        assert api.patch(f"/api/projects/{project.pk}", {"plan": other}).status_code == 200

    return of_another_plan


@pytest.fixture(params=["own", "granted", "of_plan", "of_another_plan"])
def limit(request: pytest.FixtureRequest) -> Limit:
    found: Limit = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("used", [0, 500], ids=["never used", "used"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_budget_of_nothing_is_reached_at_once_and_a_higher_one_is_not(
    limited: Project, use: Any, api: Any, time: Clock, limit: Limit, name: str, used: int
) -> None:
    Plan.objects.update(**dict.fromkeys(LIMITS))
    limited.refresh_from_db()
    if used:
        use(limited, used, money=used)
    assert shown(api, limited, time) == ("running", "")
    limit(limited, name, 0)
    status, message = shown(api, limited, time)
    resets = "16 November" if name.startswith("day") else "1 December"
    assert (status, message.split(". ")[0]) == ("degraded", f"Budget reached; it resets on {resets}")
    limit(limited, name, Decimal(900) if "money" in name else 900)
    assert shown(api, limited, time) == ("running", "")


def test_a_lower_limit_than_what_is_spent_is_reached_at_once(
    limited: Project, use: Any, api: Any, time: Clock, limit: Limit
) -> None:
    use(limited, 300)
    limit(limited, "day_tokens", 300)
    assert shown(api, limited, time)[0] == "degraded"
    limit(limited, "day_tokens", 301)
    assert shown(api, limited, time)[0] == "running"


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("by_plan", [True, False])
def test_a_new_project_with_a_budget_of_nothing(
    api: Any, time: Clock, engine: MemoryEngine, settings: Any, by_plan: bool, behind: bool
) -> None:
    """Without the gateway nothing keeps to a budget, so the agent answers."""
    settings.BERTH_GATEWAY = behind
    Plan.objects.update(**dict.fromkeys(LIMITS) | ({"day_tokens": 0} if by_plan else {}))
    answer = api.post("/api/projects", PROJECT | ({} if by_plan else {"budget": {"day_tokens": 0}}))
    assert answer.status_code == 201
    assert shown(api, Project.objects.get(), time)[0] == ("degraded" if behind else "running")


def test_a_reached_budget_does_not_outlive_the_gateway(
    limited: Project, use: Any, api: Any, time: Clock, settings: Any, control: Any
) -> None:
    use(limited, 1000)
    settings.BERTH_GATEWAY = False
    assert shown(api, limited, time)[0] == "degraded"
    assert control(limited, "restart").status_code == 200
    assert shown(api, limited, time)[0] == "running"
    settings.BERTH_GATEWAY = True
    assert control(limited, "restart").status_code == 200
    assert shown(api, limited, time)[0] == "degraded"


@pytest.mark.parametrize("name", ["own_day_tokens", "granted_day_tokens", "plan"])
def test_a_budget_of_nothing_is_reached_on_the_next_day_too(
    limited: Project, use: Any, api: Any, time: Clock, own: Limit, granted: Limit, of_plan: Limit, name: str
) -> None:
    chosen = {"own_day_tokens": own, "granted_day_tokens": granted, "plan": of_plan}[name]
    chosen(limited, "day_tokens", 0)
    for _ in range(3):
        time.now += timedelta(days=1)
        look_after_gateway()
        assert shown(api, limited, time)[0] == "degraded"


def test_what_is_spent_on_one_day_is_forgotten_on_the_next(limited: Project, use: Any, api: Any, time: Clock) -> None:
    use(limited, 1000)
    time.now += timedelta(days=1)
    look_after_gateway()
    assert shown(api, limited, time)[0] == "running"
    assert Project.objects.get().budget_until is None
