"""Who may take which plan, and how many projects on it: staff say it, and API and dashboard keep to it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.errors import PlanLimitReachedError
from projects.models import Actor, AgentType, Allowance, Plan, Project
from projects.services import NewProject, ProjectChange, create_project, update_project
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT, deploy_project
from tests.factories import UserFactory
from tests.problem_document import assert_problem, codes_of, errors_of
from tests.projects.api.test_catalogue import FREE

ACTOR = Actor(label="new@example.com", source="session")


def closed(user: User) -> None:
    """As every plan but the default one begins."""


def open_to_all(user: User) -> None:
    Plan.objects.filter(slug="pro").update(open_to_all=True)


def allow(number: int | None, plan: str = "pro") -> Callable[[User], Any]:
    return lambda user: Allowance.objects.create(user=user, plan_id=plan, max_projects=number)


def both(*acts: Callable[[User], Any]) -> Callable[[User], None]:
    def act(user: User) -> None:
        for each in acts:
            each(user)

    return act


def withdraw(user: User) -> None:
    Plan.objects.filter(slug="pro").update(available=False)


def make_default(user: User) -> None:
    Plan.objects.update(is_default=False)
    Plan.objects.filter(slug="pro").update(is_default=True)


def promote(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)


def hire(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True)


def allow_somebody_else(user: User) -> None:
    allow(5)(UserFactory.create())


@dataclass(frozen=True)
class Rule:
    """What staff have done, and how many projects on `pro` follow from it. The plan itself says three."""

    limit: int
    act: Callable[[User], Any]


RULES = {
    "nothing": Rule(0, closed),
    "open to all": Rule(3, open_to_all),
    "the default": Rule(3, make_default),
    "an allowance without a number": Rule(3, allow(None)),
    "an allowance of two": Rule(2, allow(2)),
    "an allowance of more than the plan": Rule(4, allow(4)),
    "an allowance of none": Rule(0, allow(0)),
    "open to all, but not to this one": Rule(0, both(open_to_all, allow(0))),
    "the default, but not for this one": Rule(0, both(make_default, allow(0))),
    "open to all, and more to this one": Rule(4, both(open_to_all, allow(4))),
    "an allowance of another plan": Rule(0, allow(5, "starter")),
    "somebody else's allowance": Rule(0, allow_somebody_else),
    "withdrawn": Rule(0, both(allow(2), withdraw)),
    "withdrawn while open": Rule(0, both(open_to_all, withdraw)),
    "the role of an admin": Rule(3, promote),
    "the role of an admin, and none": Rule(0, both(promote, allow(0))),
    "the role of staff": Rule(0, hire),
}


@pytest.fixture
def newcomer(db: None) -> User:
    """A user as signing up makes one."""
    Plan.objects.filter(slug="pro").update(max_projects=3)
    return UserFactory.create(email="new@example.com")


def body(number: int, plan: str = "pro") -> dict[str, Any]:
    return PROJECT | {"plan": plan, "telegramToken": f"{number}:token"}


def form(number: int, plan: str = "pro") -> dict[str, Any]:
    secrets = {"telegram_token": f"{number}:token", "api_key": PROJECT["apiKey"]}
    return {"id": str(uuid.uuid4()), "name": "Pilot", "type": "assistant", "plan": plan, **secrets}


def by_api(user: User, number: int) -> int:
    return int(api_of(user).post("/api/projects", body(number)).status_code)


def by_dashboard(user: User, number: int) -> int:
    status = browser_of(user).post("/projects/new", form(number)).status_code
    return 201 if status == 302 else status


def changed_by_api(user: User, number: int) -> int:
    """A project on another plan that is to move to this one."""
    status = api_of(user).patch(f"/api/projects/{_on_free(user, number).pk}", {"plan": "pro"}).status_code
    return 201 if status == 200 else int(status)


def changed_by_dashboard(user: User, number: int) -> int:
    path = f"/projects/{_on_free(user, number).pk}/change"
    status = browser_of(user).post(path, {"name": "Pilot", "plan": "pro"}).status_code
    return 201 if status == 302 else status


def _on_free(user: User, number: int) -> Project:
    return Project.objects.create(
        owner=user, instance="berth", name="Pilot", bot_id=number, desired="stopped",
        agent_type=AgentType.objects.get(), plan=Plan.objects.get(slug="free"),
    )  # fmt: skip


@pytest.mark.parametrize("take", [by_api, by_dashboard, changed_by_api, changed_by_dashboard])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_user_gets_as_many_as_staff_allow_on_every_way(
    newcomer: User, rule: Rule, take: Callable[[User, int], int]
) -> None:
    rule.act(newcomer)
    newcomer.refresh_from_db()
    answers = [take(newcomer, number) for number in range(1, 7)]
    refused = 403 if rule.limit else 400
    assert answers == [201] * rule.limit + [refused] * (6 - rule.limit)
    assert Project.objects.filter(plan="pro").count() == rule.limit


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_plan_is_offered_with_its_number_to_whom_it_is_open(newcomer: User, rule: Rule) -> None:
    rule.act(newcomer)
    newcomer.refresh_from_db()
    listed = {plan["slug"]: plan["max_projects"] for plan in api_of(newcomer).get("/api/plans").json()}
    assert listed.get("pro", 0) == rule.limit
    page = browser_of(newcomer).get("/projects/new").content.decode()
    number = "1 project" if rule.limit == 1 else f"{rule.limit} projects"
    assert ('<option value="pro"' in page) == bool(rule.limit)
    assert not rule.limit or f"1 CPU, {number}</option>" in page
    answer = api_of(newcomer).post("/api/projects/validate", body(1))
    assert answer.status_code == (200 if rule.limit else 400)


# -- somebody new ---------------------------------------------------------------------------------------------------


def test_a_new_user_takes_no_ten_projects_of_the_largest_plan(newcomer: User) -> None:
    api = api_of(newcomer)
    assert api.get("/api/plans").json() == [FREE]
    for number in range(1, 11):
        answer = api.post("/api/projects", body(number))
        assert codes_of(answer) == {("plan", "unknown_choice")}
        assert errors_of(answer)[0]["detail"] == "Choose one of: free."
    assert not Project.objects.exists()
    assert api.post("/api/projects", body(1, "free")).status_code == 201
    assert_problem(api.post("/api/projects", body(2, "free")), 403, "plan_limit_reached")


def test_where_nothing_is_open_that_is_said(newcomer: User) -> None:
    allow(0, "free")(newcomer)
    [error] = errors_of(api_of(newcomer).post("/api/projects", body(1)))
    assert error["detail"] == "None is open to you. Ask the staff."
    sent = {name: value for name, value in body(1).items() if name != "plan"}
    [error] = errors_of(api_of(newcomer).post("/api/projects", sent))
    assert error["detail"] == "There is no default. None is open to you. Ask the staff."
    assert browser_of(newcomer).get("/projects/new").status_code == 200


@pytest.mark.parametrize("limit", [0, 1])
def test_what_staff_take_back_meanwhile_is_refused_by_the_service_as_well(newcomer: User, limit: int) -> None:
    """A request may have been read before staff changed their mind."""
    allowance = allow(2)(newcomer)
    own = deploy_project(api_of(newcomer), plan="pro", telegramToken="1:token")
    other = deploy_project(api_of(newcomer), plan="free", telegramToken="2:token")
    wanted = NewProject(
        name="Late", agent_type=AgentType.objects.get(), plan=Plan.objects.get(slug="pro"),
        telegram_token="3:token", api_key="sk-late-0123456789",
    )  # fmt: skip
    allowance.max_projects = limit
    allowance.save()
    with pytest.raises(PlanLimitReachedError):
        create_project(owner=newcomer, wanted=wanted, actor=ACTOR)
    with pytest.raises(PlanLimitReachedError):
        update_project(project=other, change=ProjectChange(plan=own.plan), actor=ACTOR)
    assert Project.objects.count() == 2


# -- what there is goes on ------------------------------------------------------------------------------------------


@pytest.fixture(params=["taken away", "lowered", "closed"])
def kept(request: pytest.FixtureRequest, newcomer: User) -> list[Project]:
    """Two projects on a plan that their owner may no longer take."""
    if request.param == "closed":
        open_to_all(newcomer)
    else:
        allow(2)(newcomer)
    projects = [deploy_project(api_of(newcomer), plan="pro", telegramToken=f"{number}:token") for number in (1, 2)]
    Plan.objects.update(open_to_all=False)
    if request.param == "lowered":
        Allowance.objects.update(max_projects=1)
    else:
        Allowance.objects.all().delete()
    return projects


def test_projects_on_a_plan_that_is_no_longer_open_go_on(newcomer: User, kept: list[Project]) -> None:
    api, dashboard = api_of(newcomer), browser_of(newcomer)
    for project in kept:
        path = f"/api/projects/{project.pk}"
        for action in ("restart", "stop", "start"):
            assert api.post(f"{path}/control", {"action": action}).status_code == 200
        assert api.patch(path, {"name": "Renamed"}).status_code == 200
        assert api.patch(path, {"name": "Again", "plan": "pro"}).json()["plan"] == "pro"
        page = f"/projects/{project.pk}/change"
        assert '<option value="pro" selected>' in dashboard.get(page).content.decode()
        assert dashboard.post(page, {"name": "By form", "plan": "pro"}).status_code == 302
    assert api.post("/api/projects", body(3)).status_code in {400, 403}
    assert api.patch(f"/api/projects/{kept[0].pk}", {"plan": "free"}).status_code == 200
    assert Project.objects.filter(plan="pro").count() == 1


def test_an_upgrade_leaves_owners_what_they_have(newcomer: User, alice: User) -> None:
    open_to_all(newcomer)
    for number in (1, 2):
        deploy_project(api_of(newcomer), plan="pro", telegramToken=f"{number}:token")
    deploy_project(api_of(newcomer), plan="free", telegramToken="3:token")
    Plan.objects.update(open_to_all=False)
    Allowance.objects.all().delete()
    import_module("projects.migrations.0015_allowances").keep_what_owners_have(apps, None)
    kept = Allowance.objects.values_list("user", "plan", "max_projects")
    assert list(kept) == [(newcomer.pk, "pro", 2)]


# -- the admin ------------------------------------------------------------------------------------------------------

PATH = "/admin/projects/allowance/"


def save(staff: Client, email: str, number: str = "2", path: str = "add/") -> Any:
    return staff.post(f"{PATH}{path}", {"user": email, "plan": "pro", "max_projects": number}, follow=True)


def test_staff_say_what_a_user_may_take(sam: User, newcomer: User) -> None:
    staff = browser_of(sam)
    assert "was added successfully" in save(staff, " New@Example.com ").content.decode()
    allowance = Allowance.objects.get(user=newcomer)
    assert (allowance.plan_id, allowance.max_projects) == ("pro", 2)
    assert by_api(newcomer, 1) == 201
    assert "This user has an allowance for this plan already." in save(staff, newcomer.email).content.decode()
    save(staff, "", "", f"{allowance.pk}/change/")
    allowance.refresh_from_db()
    assert (allowance.user, allowance.max_projects) == (newcomer, None)
    assert newcomer.email in staff.get(PATH).content.decode()
    staff.post(f"{PATH}{allowance.pk}/delete/", {"post": "yes"})
    assert not Allowance.objects.filter(user=newcomer).exists()
    assert by_api(newcomer, 2) == 400


@pytest.mark.parametrize("email", ["", "nobody@example.org", "new", "é" * 300, "1", "%", "new@example.com\x00"])
def test_an_email_that_nobody_has_is_told(sam: User, newcomer: User, email: str) -> None:
    answer = save(browser_of(sam), email)
    assert answer.status_code == 200
    assert not Allowance.objects.filter(user=newcomer).exists()


@pytest.mark.parametrize("number", ["-1", "x", "1e3", "99999999999999999999"])
def test_a_number_that_is_none_is_told(sam: User, newcomer: User, number: str) -> None:
    assert save(browser_of(sam), newcomer.email, number).status_code == 200
    assert not Allowance.objects.filter(user=newcomer).exists()


def test_staff_allow_nothing_to_staff_and_admins(sam: User, ada: User, newcomer: User) -> None:
    Allowance.objects.all().delete()
    for email in (sam.email, ada.email):
        assert save(browser_of(sam), email).status_code == 403
    allowance = Allowance.objects.create(user=ada, plan_id="pro", max_projects=1)
    assert save(browser_of(sam), "", "9", f"{allowance.pk}/change/").status_code == 403
    assert browser_of(sam).post(f"{PATH}{allowance.pk}/delete/", {"post": "yes"}).status_code == 403
    assert save(browser_of(ada), sam.email).status_code == 200
    assert list(Allowance.objects.order_by("pk").values_list("user", "max_projects")) == [(ada.pk, 1), (sam.pk, 2)]
    everything = {"action": "delete_selected", "_selected_action": [str(allowance.pk)], "post": "yes"}
    browser_of(sam).post(PATH, everything)
    assert Allowance.objects.filter(pk=allowance.pk).exists()


def test_users_allow_themselves_nothing(newcomer: User) -> None:
    assert save(browser_of(newcomer), newcomer.email).status_code in {302, 403}
    assert not Allowance.objects.filter(user=newcomer).exists()
    for field in ("allowances", "max_projects", "open_to_all"):
        api: APIClient = api_of(newcomer)
        assert api.post("/api/projects", body(1, "free") | {field: 9}).status_code == 400
