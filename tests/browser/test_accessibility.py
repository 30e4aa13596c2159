"""Labels, headings, contrasts and a visible focus on every page of a project."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from projects.models import Project
from projects.rules.traits import Look
from tests.browser.project_pages import deploy_by_form, fill_in
from tests.fakes.engine import MemoryEngine

FAULTS = (Path(__file__).parent / "faults.js").read_text()

BELOW = ("", "/change", "/delete", "/usage", "/budget", "/people")
"""The pages of a project."""


UNSEEN_FOCUS = """() => {
  const node = document.activeElement;
  const outlines = [getComputedStyle(node), getComputedStyle(node, "::after")];
  return outlines.every(style => style.outlineStyle === "none") ? node.outerHTML.slice(0, 120) : "";
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_headings_references_and_contrasts_are_as_they_should_be(
    home: Page, engine: MemoryEngine, scheme: str
) -> None:
    home.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    assert home.evaluate(FAULTS) == []
    fill_in(home, name="x" * 65)
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("alert")).to_be_visible()
    assert home.evaluate(FAULTS) == []
    project = deploy_by_form(home)
    assert home.evaluate(FAULTS) == []
    engine.log(project.container_name, "Unauthorized")
    engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    for path in ("/", *(f"/projects/{project.pk}{below}" for below in BELOW)):
        home.goto(path)
        assert home.evaluate(FAULTS) == [], path
    badge = "(h1, look) => h1.insertAdjacentHTML('afterend', `<p><b class='badge status ${look}'>${look}</b></p>`)"
    for look in Look:
        home.locator("h1").evaluate(badge, look)
    assert home.evaluate(FAULTS) == []


def test_the_check_finds_what_is_wrong(home: Page) -> None:
    home.locator("main").evaluate(
        "node => node.insertAdjacentHTML('beforeend', '<h4>Deep</h4><input><a href=x></a><p id=main class=faint>x</p>')"
    )
    home.locator(".faint").evaluate("node => { node.style.color = 'rgb(200, 200, 200)'; }")
    assert len(home.evaluate(FAULTS)) >= 5


@pytest.mark.parametrize("below", [None, *BELOW])
def test_the_focus_is_seen_wherever_the_tab_key_leads(home: Page, below: str | None) -> None:
    project = deploy_by_form(home)
    home.goto("/" if below is None else f"/projects/{project.pk}{below}")
    stops = 0
    while stops < 40:
        home.keyboard.press("Tab")
        if home.evaluate("document.activeElement === document.body"):
            break
        stops += 1
        assert home.evaluate(UNSEEN_FOCUS) == ""
    assert 5 < stops < 40
