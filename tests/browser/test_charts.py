"""The charts of a project, and the small ones of the list, in a real browser."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from projects.models import HourlyUsage, Project, Sample
from tests.browser.project_pages import deploy_named
from tests.browser.test_accessibility import FAULTS


def measure(project: Project) -> None:
    """Two days of samples, with a gap, and an hour that was counted."""
    now = timezone.now().replace(second=0, microsecond=0)
    row = {"project_id": project.pk}
    of_minutes = [(1, minute) for minute in range(2, 1400) if not 20 < minute < 35]
    of_quarters = [(15, minute) for minute in range(15, 60 * 24 * 6, 15)]
    Sample.objects.bulk_create(
        Sample(
            **row,
            at=now - timedelta(minutes=minute),
            minutes=length,
            cpu=300 + 37 * minute % 700,
            memory=(200 + minute % 90) << 20,
            received=minute * 2500,
            sent=(minute * 7919) % 90_000,
        )
        for length, minute in [*of_minutes, *of_quarters]
    )
    hour = now.replace(minute=0)
    for ago in range(20):
        counts = {"hour": hour - timedelta(hours=ago), "messages": 3 * ago % 7, "input": 900 * ago}
        HourlyUsage.objects.create(**row, owner_id=project.owner_id, store="s", model="m", **counts)


def test_charts_look_right_everywhere_and_change_without_loading_the_page(
    page: Page, alice: User, sign_in: Callable[[User], None], look: Callable[[str], None]
) -> None:
    project = deploy_named(alice, "Harbour pilot", 0)
    measure(project)
    sign_in(alice)
    page.goto(f"/projects/{project.pk}")
    page.get_by_text("The same numbers as a table").click()
    look("charts-hour")
    page.evaluate("window.isSamePage = true")
    page.get_by_role("link", name="7 days").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Memory of the last 7 days")).to_be_visible()
    expect(page.get_by_role("link", name="7 days")).to_be_focused()
    assert page.evaluate("window.isSamePage")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("link", name="24 hours").click()
    expect(page.get_by_role("img", name="Memory of the last 24 hours")).to_be_visible()
    look("charts-day")
    page.goto("/")
    curves = page.locator(".used path")
    expect(curves).to_have_count(2)
    look("list-curves")
    Sample.objects.update(cpu=4200)
    page.evaluate("htmx.ajax('GET', '/projects/curves', {source: '#live-curves', swap: 'none'})")
    expect(page.get_by_text("CPU 42.0 %")).to_be_visible()
    expect(curves).to_have_count(2)
