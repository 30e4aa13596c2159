"""Many projects in a real browser: found, narrowed down, sorted, chosen by keyboard, stopped and deleted."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from projects.models import Plan, Project
from tests.browser.project_pages import deploy_named
from tests.fakes.engine import MemoryEngine


@pytest.mark.rare(2)
def test_sixty_one_projects_are_searched_narrowed_down_sorted_and_commanded(
    page: Page, alice: User, sign_in: Callable[[User], None], engine: MemoryEngine
) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=61, memory_mb=64)
    projects = [deploy_named(alice, f"Agent {number:02}", number) for number in range(61)]
    for project in projects[30:33]:
        engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    sign_in(alice)
    page.goto("/")
    rows = page.locator(".projects > li")
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("Telegram refused the bot token.")
    expect(page.get_by_role("navigation", name="By status")).to_have_text("All 61 Crashed 3 Running 58")
    find(page, rows)
    sort(page, rows)
    command(page, rows)
    assert not Project.objects.filter(pk__in=[project.pk for project in projects[30:33]]).exists()
    assert Project.objects.filter(desired="stopped").count() == 25


def find(page: Page, rows: Locator) -> None:
    """By text and by status; the back button restores the previous list."""
    page.get_by_label("Search").press_sequentially("agent 1")
    expect(rows).to_have_count(10)
    expect(page).to_have_url("/?q=agent%201&sort=trouble")
    expect(page.locator("#api-call")).to_contain_text("/api/projects?q=agent+1&sort=status")
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


def sort(page: Page, rows: Locator) -> None:
    """First the crashed ones, then all of them, over three pages."""
    order = page.get_by_label("Order")
    for name, numbers in (("Oldest first", (30, 32)), ("Newest first", (32, 30)), ("By name", (30, 32))):
        order.select_option(name)
        expect(rows.first).to_contain_text(f"Agent {numbers[0]}")
        expect(rows.last).to_contain_text(f"Agent {numbers[1]}")
    page.get_by_role("link", name="All 61").click()
    expect(page).to_have_url("/?sort=name")
    for first, last in (("Agent 00", "Agent 24"), ("Agent 25", "Agent 49"), ("Agent 50", "Agent 60")):
        expect(rows.first).to_contain_text(first)
        expect(rows.last).to_contain_text(last)
        if (after := page.get_by_role("link", name="Next page")).is_visible():
            after.click()
    expect(rows).to_have_count(11)
    expect(page.get_by_text("Page 3 of 3")).to_be_visible()


def command(page: Page, rows: Locator) -> None:
    """A whole page by the keyboard, and three deleted."""
    page.goto("/?sort=name")
    page.get_by_label("All on this page").press("Space")
    expect(page.get_by_text("25 selected:")).to_be_visible()
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
    expect(page.locator("#results > li")).to_have_count(25)
    page.get_by_role("link", name="Back to the projects").click()
    page.get_by_role("link", name="Crashed 3").click()
    expect(rows).to_have_count(3)
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Delete").click()
    page.get_by_label("How many projects to delete").fill("3")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
