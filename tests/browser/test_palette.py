"""The command palette and the shortcuts, with the keyboard alone; and what a page is by the API."""

import re

from playwright.sync_api import Page, expect

from tests.browser.project_pages import deploy_by_form
from tests.browser.test_accessibility import FAULTS
from tests.fakes.engine import MemoryEngine


def test_the_keyboard_alone_leads_everywhere(home: Page, engine: MemoryEngine) -> None:
    project = deploy_by_form(home)
    home.keyboard.press("g")
    home.keyboard.press("s")
    expect(home).to_have_url(re.compile("/settings$"))
    home.keyboard.press("g")
    home.keyboard.press("p")
    expect(home.get_by_role("heading", level=1)).to_have_text("Projects")
    home.keyboard.press("/")
    expect(home.get_by_label("Search", exact=True)).to_be_focused()
    home.keyboard.type("n? g p")
    expect(home.get_by_label("Search", exact=True)).to_have_value("n? g p")
    expect(home).not_to_have_url(re.compile("/projects/new"))
    home.goto(f"/projects/{project.pk}")
    home.keyboard.press("?")
    expect(home.get_by_label("Where to")).to_be_focused()
    assert home.evaluate(FAULTS) == []
    home.keyboard.press("Escape")
    expect(home.get_by_role("dialog")).to_be_hidden()
    home.keyboard.press("Control+k")
    home.keyboard.type("people")
    home.keyboard.press("Enter")
    expect(home).to_have_url(re.compile("/people$"))
    home.keyboard.press("Control+k")
    home.keyboard.type("Harbour")
    home.keyboard.press("Enter")
    expect(home).to_have_url(re.compile(r"\?q=Harbour$"))
    home.keyboard.press("Control+k")
    home.keyboard.press("ArrowDown")
    home.keyboard.press("ArrowDown")
    home.keyboard.press("Enter")
    expect(home).to_have_url(re.compile("/projects/new$"))


def test_a_page_shows_its_request_of_the_api(home: Page, engine: MemoryEngine) -> None:
    project = deploy_by_form(home)
    home.goto(f"/projects/{project.pk}")
    home.get_by_text("The same by the API").click()
    home.get_by_role("button", name="Copy this request").click()
    expect(home.get_by_text("Copied.")).to_be_visible()
    copied = home.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -s http")
    assert f"/api/projects/{project.pk}" in copied
