"""The command palette and the shortcuts, with the keyboard alone; and the API request of a page."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.project_pages import deploy_by_form, tab_to
from tests.browser.viewer import faults_of
from tests.fakes.engine import MemoryEngine


def wait_until_it_listens(page: Page) -> None:
    """The address changes before the script has loaded. Keys pressed meanwhile are lost."""
    expect(page.locator("#open-palette")).to_be_visible()


@pytest.mark.rare(1)
def test_the_keyboard_alone_leads_everywhere(home: Page, engine: MemoryEngine) -> None:
    deploy_by_form(home)
    keys, search, where = home.keyboard, home.get_by_label("Search", exact=True), home.get_by_label("Where to")
    for typed, address in (("gs", "/settings$"), ("gd", "/api/docs"), ("gp", "localhost:[0-9]+/$")):
        wait_until_it_listens(home)
        keys.type(typed)
        expect(home).to_have_url(re.compile(address))
    wait_until_it_listens(home)
    keys.press("/")
    expect(search).to_be_focused()
    keys.type("n? g p")
    expect(search).to_have_value("n? g p")
    expect(home).not_to_have_url(re.compile("/projects/new"))
    keys.press("Control+k")
    keys.type("Harbour")
    keys.press("Enter")
    expect(home).to_have_url(re.compile(r"\?q=Harbour$"))
    tab_to(home.get_by_role("link", name="Harbour pilot"))
    keys.press("Enter")
    expect(home.get_by_role("heading", name="Harbour pilot")).to_be_visible()
    wait_until_it_listens(home)
    keys.press("?")
    expect(where).to_be_focused()
    assert faults_of(home) == []
    keys.press("Escape")
    expect(home.get_by_role("dialog")).to_be_hidden()
    keys.press("Control+k")
    keys.type("people")
    keys.press("Enter")
    expect(home).to_have_url(re.compile("/people$"))
    wait_until_it_listens(home)
    keys.press("Control+k")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(home).to_have_url(re.compile("/projects/new$"))


def test_a_page_shows_its_request_of_the_api(home: Page, engine: MemoryEngine) -> None:
    project = deploy_by_form(home)
    home.goto(f"/projects/{project.pk}")
    home.get_by_text("Do this with the API").click()
    home.get_by_role("button", name="Copy this request").click()
    expect(home.get_by_text("Copied.")).to_be_visible()
    copied = home.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -s http")
    assert f"/api/projects/{project.pk}" in copied
    home.get_by_role("button", name="Copy the id").click()
    home.wait_for_function("id => navigator.clipboard.readText().then(text => text === id)", arg=str(project.pk))
