"""What the projects' pages look like: no side-scrolling on a telephone, and pictures for people who want to look.

The pictures go to BERTH_TEST_PICTURES, where that is set.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from containers.vocabulary import Health
from projects.models import HourlyUsage, Plan, Project
from tests.browser.project_pages import deploy_named
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine


@pytest.fixture
def fleet(alice: User) -> dict[str, Project]:
    """A project in each of the moods that a list can show."""
    Plan.objects.filter(slug="pro").update(max_projects=20)
    names = ["Harbour pilot", "Night watch", "Tide tables", "x" * 64, "Lost at sea", "Under repair"]
    return {name: deploy_named(alice, name, number) for number, name in enumerate(names)}


def spend(project: Project) -> None:
    """Days of usage, of models with long names, and a budget that is reached."""
    now = timezone.now()
    Plan.objects.filter(pk=project.plan_id).update(day_tokens=5000, month_money=20)
    Project.objects.filter(pk=project.pk).update(budget_until=now + timedelta(days=1))
    for number, model in enumerate(["gpt-5.4-mini", "", "organisation/a-model-with-a-name:" + "x" * 90]):
        hour = now - timedelta(days=number)
        row = {"project_id": project.pk, "owner_id": project.owner_id, "store": "s", "hour": hour, "model": model}
        HourlyUsage.objects.create(**row, requests=7, errors=2, estimated=1, input=10**12, output=10**9, money=10**13)


def stir(fleet: dict[str, Project], engine: MemoryEngine) -> Project:
    """Bring each into its mood, and return the one with the most to say."""
    _, watch, tide, long, sea, repair = fleet.values()
    for number in range(40):
        engine.log(watch.container_name, f'AGENT-STATUS {{"v":1,"state":"running","code":"","detail":"poll {number}"}}')
    engine.log(watch.container_name, "telegram.error.InvalidToken: Unauthorized " + "y" * 150)
    engine.crash(watch.container_name, exit_code=20)
    engine.report(tide.container_name, "degraded", "provider_busy")
    engine.set_health(tide.container_name, Health.UNHEALTHY)
    engine.crash(long.container_name, exit_code=1, restarting=True)
    later = timezone.now() + timedelta(minutes=10)
    Project.objects.filter(pk=sea.pk).update(operation="restart", operation_id=sea.pk, operation_deadline=later)
    engine.exit(repair.container_name)
    Project.objects.filter(pk=repair.pk).update(suspended_at=timezone.now())
    Project.objects.update(observed_at=None)
    return watch


def test_every_page_fits_its_screen(
    page: Page,
    alice: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    fleet: dict[str, Project],
    look: Callable[[str], None],
) -> None:
    sign_in(alice)
    page.goto("/projects/new")
    look("new")
    page.get_by_label("Name").fill("x" * 65)
    page.get_by_label("Bot token").fill("nonsense")
    page.get_by_label("API key").fill(CANARY_API_KEY)
    page.get_by_label("Allowed users").fill("@alice_a\nno good!")
    page.get_by_role("button", name="Deploy").click()
    expect(page.get_by_role("alert")).to_be_focused()
    look("new-refused")
    page.get_by_label("Name").fill("Sea mark")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#check-result")).to_contain_text("bot token")
    look("new-checked")
    page.goto("/")
    look("list-well")
    crashed = stir(fleet, engine)
    page.reload()
    look("list")
    page.goto(f"/projects/{crashed.pk}")
    look("crashed")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("link", name="Earlier run").click()
    look("earlier-run")
    page.goto(f"/projects/{fleet['Harbour pilot'].pk}")
    look("ready")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("is stopped.")).to_be_visible()
    look("stopped")
    page.goto(f"/projects/{crashed.pk}/change")
    look("change")
    page.goto(f"/projects/{crashed.pk}/delete")
    page.get_by_role("textbox").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    look("delete-refused")
    page.goto(f"/projects/{crashed.pk}/memory")
    page.get_by_role("textbox").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    look("memory-refused")
    engine.unavailable = True
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=2))
    page.goto(f"/projects/{fleet['Tide tables'].pk}")
    look("unknown")
    Project.objects.filter(owner=alice).delete()
    page.goto("/")
    look("empty")


def test_commands_to_many_look_right_everywhere(
    page: Page,
    alice: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    fleet: dict[str, Project],
    look: Callable[[str], None],
) -> None:
    stir(fleet, engine)
    sign_in(alice)
    page.goto("/?q=nowhere")
    look("list-nothing")
    page.goto("/?sort=name")
    page.get_by_label("All on this page").check()
    look("list-chosen")
    page.get_by_role("button", name="Delete").click()
    look("bulk-delete")
    page.get_by_role("link", name="Keep them").click()
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
    look("bulk")


def test_usage_and_budget_look_right_everywhere(
    page: Page, alice: User, sign_in: Callable[[User], None], fleet: dict[str, Project], look: Callable[[str], None]
) -> None:
    project = fleet["Harbour pilot"]
    spend(project)
    sign_in(alice)
    page.goto(f"/projects/{project.pk}/usage")
    look("usage")
    page.goto(f"/projects/{project.pk}/budget")
    page.get_by_label("Tokens a day").fill("6000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    look("budget-refused")
