"""The charts of a project, and the small ones of the list, in a real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from projects.models import Sample
from tests.browser.project_pages import deploy_named
from tests.browser.viewer import faults_of
from tests.browser.worlds import measure


@pytest.mark.rare(3)
def test_charts_look_right_everywhere_and_change_without_loading_the_page(
    page: Page, alice: User, sign_in: Callable[[User], None], look: Callable[[str], None]
) -> None:
    project = deploy_named(alice, "Harbour pilot", 0)
    measure(project)
    sign_in(alice)
    page.goto(f"/projects/{project.pk}")
    page.get_by_text("The same numbers as a table").click()
    look("charts-hour")
    expect(page.locator(".axis time:last-child").first).to_contain_text("UTC")
    page.evaluate("window.isSamePage = true")
    page.get_by_role("link", name="7 days").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Memory of the last 7 days")).to_be_visible()
    expect(page.get_by_role("link", name="7 days")).to_be_focused()
    assert page.evaluate("window.isSamePage")
    assert faults_of(page) == []
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
