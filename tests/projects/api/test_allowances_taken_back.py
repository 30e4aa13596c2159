"""Plans that staff close while projects run on them or are being created."""

from importlib import import_module

import pytest
from django.apps import apps

from accounts.models import User
from projects.errors import PlanLimitReachedError
from projects.models import AgentType, Allowance, Plan, Project
from projects.services import NewProject, ProjectChange, create_project, update_project
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project
from tests.projects.api.allowing import ACTOR, allow, body, open_to_all


@pytest.mark.parametrize("limit", [0, 1])
def test_an_allowance_withdrawn_during_a_request_is_refused_by_the_service_too(newcomer: User, limit: int) -> None:
    """Staff may change it after a request was read."""
    allowance = allow(2)(newcomer)
    own = deploy_project(api_of(newcomer), plan="pro", telegramToken="1:token")
    other = deploy_project(api_of(newcomer), plan="free", telegramToken="2:token")
    wanted = NewProject(
        name="Late", agent_type=AgentType.objects.get(slug="assistant"), plan=Plan.objects.get(slug="pro"),
        telegram_token="3:token", api_key="sk-late-0123456789",
    )  # fmt: skip
    allowance.max_projects = limit
    allowance.save()
    with pytest.raises(PlanLimitReachedError):
        create_project(owner=newcomer, wanted=wanted, actor=ACTOR)
    with pytest.raises(PlanLimitReachedError):
        update_project(project=other, change=ProjectChange(plan=own.plan), actor=ACTOR)
    assert Project.objects.count() == 2


@pytest.fixture(params=["taken away", "lowered", "closed"])
def kept(request: pytest.FixtureRequest, newcomer: User) -> list[Project]:
    """Two projects on a plan that their owner may no longer choose."""
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


def test_projects_on_a_withdrawn_plan_keep_running(newcomer: User, kept: list[Project]) -> None:
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


def test_an_upgrade_keeps_the_owners_allowances(newcomer: User, alice: User) -> None:
    open_to_all(newcomer)
    for number in (1, 2):
        deploy_project(api_of(newcomer), plan="pro", telegramToken=f"{number}:token")
    deploy_project(api_of(newcomer), plan="free", telegramToken="3:token")
    Plan.objects.update(open_to_all=False)
    Allowance.objects.all().delete()
    import_module("projects.migrations.0015_allowances").keep_what_owners_have(apps, None)
    kept = Allowance.objects.values_list("user", "plan", "max_projects")
    assert list(kept) == [(newcomer.pk, "pro", 2)]
