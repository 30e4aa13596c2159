"""Many projects in a real browser: found, narrowed down, chosen by keyboard, stopped and deleted."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from accounts.models import User
from projects.models import Plan, Project
from tests.browser.project_pages import deploy_named
from tests.fakes.engine import MemoryEngine


def test_many_projects_are_searched_narrowed_down_and_commanded(
    page: Page, alice: User, sign_in: Callable[[User], None], engine: MemoryEngine
) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=30, memory_mb=64)
    projects = [deploy_named(alice, f"Agent {number:02}", number) for number in range(27)]
    for project in projects[:3]:
        engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    sign_in(alice)
    page.goto("/")
    rows = page.locator(".projects > li")
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("Telegram refused the bot token.")

    page.get_by_label("Search").press_sequentially("agent 1")
    expect(rows).to_have_count(10)
    expect(page).to_have_url("/?q=agent%201&sort=trouble")
    expect(page.get_by_label("Search")).to_be_focused()
    page.get_by_label("Search").fill("")
    expect(rows).to_have_count(25)
    page.get_by_role("link", name="Crashed 3").click()
    expect(rows).to_have_count(3)
    expect(page).to_have_url("/?status=crashed")
    page.go_back()
    expect(rows).to_have_count(25)
    page.go_forward()
    expect(rows).to_have_count(3)

    page.get_by_label("All on this page").press("Space")
    expect(page.get_by_text("3 chosen:")).to_be_visible()
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
    expect(page.locator("#results > li")).to_have_count(3)
    page.get_by_role("link", name="Back to the projects").click()
    page.get_by_role("link", name="Stopped 3").click()
    expect(rows).to_have_count(3)
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Delete").click()
    page.get_by_label("How many projects are to be deleted").fill("3")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
    assert not Project.objects.filter(pk__in=[project.pk for project in projects[:3]]).exists()
