"""A focus that is seen on every page of a project. What else makes a page accessible is asked of every page there is:
`test_every_page.py`.
"""

import pytest
from playwright.sync_api import Page

from tests.browser.project_pages import deploy_by_form

BELOW = ("", "/change", "/delete", "/usage", "/budget", "/people")
"""The pages of a project."""

UNSEEN_FOCUS = """() => {
  const node = document.activeElement;
  const outlines = [getComputedStyle(node), getComputedStyle(node, "::after")];
  return outlines.every(style => style.outlineStyle === "none") ? node.outerHTML.slice(0, 120) : "";
}"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("below", [None, *BELOW])
def test_the_focus_is_visible_at_every_stop_of_the_tab_key(home: Page, below: str | None) -> None:
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
