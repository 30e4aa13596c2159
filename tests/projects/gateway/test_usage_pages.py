"""The pages of usage and budget: for the owner, and for staff."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts import clock
from accounts.models import User
from projects.models import Event, HourlyUsage, ModelPrice, Plan, Project, Spending
from projects.rules.periods import Period, begin_of
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import text_of
from tests.projects.gateway.entries import entry_of

pytestmark = pytest.mark.django_db
NO_LIMIT = {"day_tokens": None, "month_tokens": None, "day_money": None, "month_money": None}


def read_all(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


@pytest.fixture
def owner(alice: User) -> Client:
    return browser_of(alice)


@pytest.fixture
def staff(sam: User) -> Client:
    return browser_of(sam)


@pytest.fixture
def admin(ada: User) -> Client:
    return browser_of(ada)


@pytest.fixture
def used(project: Project) -> Project:
    """Alice's project has used 1,200 tokens for 2.50 today."""
    Plan.objects.update(**{**NO_LIMIT, "day_tokens": 5000, "month_money": Decimal(9)})
    now = clock.now()
    row = {"project_id": project.pk, "owner_id": project.owner_id, "store": "one", "requests": 3, "errors": 1}
    HourlyUsage.objects.create(**row, hour=now, model="<b>gpt</b>", input=1000, output=200, money=2_500_000)
    HourlyUsage.objects.create(**row, hour=now - timedelta(days=40), model="too old")
    spent = {"day_tokens": 1200, "day_money": 2_500_000, "day_requests": 3, "month_tokens": 1200}
    day, month = (begin_of(period, now).date() for period in Period)
    Spending.objects.create(project=project, day=day, month=month, **spent)
    return project


def test_the_project_page_summarises_usage(owner: Client, used: Project) -> None:
    text = text_of(owner.get(f"/projects/{used.pk}"))
    assert "Today 1,200 tokens, 2.50 in money, 3 calls, 0 messages" in text
    assert "Budget of the day 5,000 tokens" in text
    assert "Budget of the month 9.00 in money" in text


def test_the_usage_page_shows_usage_by_day_and_model(owner: Client, used: Project) -> None:
    answer = owner.get(f"/projects/{used.pk}/usage")
    text = text_of(answer)
    assert "&lt;b&gt;gpt&lt;/b&gt;" in text
    assert "3 calls, 1 failed" in text
    assert "1,000 tokens in (0 cached), 200 out" in text
    assert "too old" not in text


def test_the_usage_page_shows_a_reached_budget(owner: Client, used: Project) -> None:
    Project.objects.update(budget_until=clock.now() + timedelta(days=1))
    assert "The budget is reached until" in text_of(owner.get(f"/projects/{used.pk}/usage"))


def test_the_file_is_a_csv(owner: Client, used: Project) -> None:
    answer = owner.get(f"/projects/{used.pk}/usage.csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert read_all(answer).count("\r\n") == 2


def test_a_stranger_finds_nothing(used: Project, bob: User) -> None:
    for below in ("usage", "usage.csv", "budget"):
        assert browser_of(bob).get(f"/projects/{used.pk}/{below}").status_code == 404
    assert browser_of(bob).post(f"/projects/{used.pk}/budget", {"day_tokens": 1}).status_code == 404


def test_an_owner_sets_a_budget_by_the_form(owner: Client, used: Project, engine: MemoryEngine) -> None:
    assert "At most 5,000, as when left empty." in text_of(owner.get(f"/projects/{used.pk}/budget"))
    sent = {"day_tokens": "4000", "month_money": "1.25"}
    assert owner.post(f"/projects/{used.pk}/budget", sent).status_code == 302
    budget = entry_of(engine, used)["budget"]
    assert (budget["day_tokens"], budget["month_money"]) == (4000, 1_250_000)
    assert owner.post(f"/projects/{used.pk}/budget", {}).status_code == 302
    assert entry_of(engine, used)["budget"]["day_tokens"] == 5000


@pytest.mark.parametrize(
    "sent",
    [
        {"day_tokens": "5001"},
        {"day_tokens": "-1"},
        {"day_tokens": "x"},
        {"month_money": "9.01"},
        {"day_money": "1.001"},
    ],
)
def test_a_budget_that_is_too_large_is_refused_next_to_its_field(
    owner: Client, used: Project, sent: dict[str, str]
) -> None:
    answer = owner.post(f"/projects/{used.pk}/budget", sent)
    assert answer.status_code == 400
    assert f'<a href="#id_{next(iter(sent))}">' in answer.content.decode()
    used.refresh_from_db()
    assert used.own_day_tokens is None


def test_staff_see_the_top_spenders_first(used: Project, deploy: Callable[..., Project], staff: Client) -> None:
    other = deploy(name="Little", telegramToken="555:another-bot")
    day, month = (begin_of(period, clock.now()).date() for period in Period)
    Spending.objects.create(project=other, day=day, month=month, month_tokens=5)
    Spending.objects.filter(project=used).update(month_money=7_000_000)
    text = text_of(staff.get("/admin/projects/spending/"))
    assert text.index("Harbour pilot") < text.index("Little")
    assert "7.00" in text


def test_staff_grant_more_than_the_plan_gives(used: Project, staff: Client, engine: MemoryEngine) -> None:
    page = f"/admin/projects/project/{used.pk}/budget/"
    assert "The plan allows 5,000 tokens a day" in text_of(staff.get(page))
    assert staff.post(page, {"granted_day_tokens": "90000"}).status_code == 302
    assert entry_of(engine, used)["budget"]["day_tokens"] == 90_000
    event = Event.objects.get(project_id=used.pk, action="budget")
    assert (event.outcome, event.actor_for_owner) == ("granted", "staff")
    assert staff.post(page, {"granted_day_tokens": "-1"}).status_code == 200
    assert staff.post(page, {"granted_day_tokens": ""}).status_code == 302
    assert entry_of(engine, used)["budget"]["day_tokens"] == 5000


def test_an_owner_may_set_a_budget_up_to_the_grant(owner: Client, used: Project, staff: Client) -> None:
    staff.post(f"/admin/projects/project/{used.pk}/budget/", {"granted_day_tokens": "90000"})
    assert owner.post(f"/projects/{used.pk}/budget", {"day_tokens": "80000"}).status_code == 302
    used.refresh_from_db()
    assert used.budget.day_tokens == 80_000


def test_only_permitted_staff_grant_budgets(used: Project, owner: Client) -> None:
    owner.post(f"/admin/projects/project/{used.pk}/budget/", {"granted_day_tokens": "90000"})
    used.refresh_from_db()
    assert used.granted_day_tokens is None


@pytest.mark.parametrize("rights", [{"is_staff": True}, {"is_staff": True, "is_superuser": True}], ids=str)
def test_only_admins_grant_budgets_to_staff_and_admins(
    used: Project, staff: Client, admin: Client, rights: dict[str, bool]
) -> None:
    """Like allowances. Staff would otherwise raise the budget of their own project."""
    User.objects.filter(pk=used.owner_id).update(**rights)
    change = f"/admin/projects/project/{used.pk}/change/"
    page = f"/admin/projects/project/{used.pk}/budget/"
    assert [page in each.get(change).content.decode() for each in (staff, admin)] == [False, True]
    assert [staff.get(page).status_code, staff.post(page, {"granted_day_tokens": "9"}).status_code] == [403, 403]
    used.refresh_from_db()
    assert used.granted_day_tokens is None
    assert admin.post(page, {"granted_day_tokens": "9"}).status_code == 302


def test_staff_keep_prices_which_reach_the_gateway(used: Project, staff: Client, engine: MemoryEngine) -> None:
    page = "/admin/projects/modelprice/"
    assert "enter the dearest" in staff.get(f"{page}add/").content.decode()
    assert staff.post(f"{page}add/", {"model": "gpt", "input": "2", "output": "8"}).status_code == 302
    look_after_gateway()
    assert entry_of(engine, used)["prices"]["gpt"] == {"input": 2_000_000, "output": 8_000_000, "cached": 2_000_000}
    assert staff.post(f"{page}gpt/change/", {"input": "3", "output": "8", "cached": "0"}).status_code == 302
    look_after_gateway()
    assert entry_of(engine, used)["prices"]["gpt"]["input"] == 3_000_000
    assert staff.post(f"{page}gpt/delete/", {"post": "yes"}).status_code == 302
    look_after_gateway()
    assert entry_of(engine, used)["prices"] == {}
    assert not ModelPrice.objects.exists()


def test_a_changed_plan_reaches_the_gateway(used: Project, admin: Client, engine: MemoryEngine) -> None:
    page = "/admin/projects/plan/pro/change/"
    form = admin.get(page).context["adminform"].form
    fields = {name: value for name in form.fields if (value := form[name].value()) not in {None, False}}
    assert admin.post(page, {**fields, "day_tokens": "777"}).status_code == 302
    look_after_gateway()
    assert entry_of(engine, used)["budget"]["day_tokens"] == 777


def test_the_budget_of_a_suspended_project_is_not_offered(owner: Client, used: Project) -> None:
    page, budget = f"/projects/{used.pk}/usage", f"/projects/{used.pk}/budget"
    assert budget in owner.get(page).content.decode()
    Project.objects.update(suspended_at=clock.now())
    assert budget not in owner.get(page).content.decode()
