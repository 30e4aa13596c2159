"""Pages where the browser replaces our backgrounds and colours, as on Windows in a contrast theme."""

from playwright.sync_api import Locator, Page

from tests.browser.project_pages import deploy_by_form

LOOK = """node => {
  const style = getComputedStyle(node);
  return [style.textDecorationLine, style.outlineStyle, style.fontWeight, style.borderTopWidth].join(" ");
}"""


def look_of(node: Locator) -> str:
    return str(node.first.evaluate(LOOK))


def test_what_is_current_or_chosen_looks_different(home: Page) -> None:
    project = deploy_by_form(home)
    home.emulate_media(forced_colors="active")
    for address, chosen, other in (
        ("/", "nav[aria-label=Main] a[aria-current]", "nav[aria-label=Main] a:not([aria-current])"),
        ("/", ".chip[aria-current]", ".chip:not([aria-current])"),
        ("/projects/new", ".option:has(:checked)", ".option:not(:has(:checked))"),
    ):
        home.goto(address)
        assert look_of(home.locator(chosen)) != look_of(home.locator(other)), chosen
    home.goto(f"/projects/{project.pk}")
    follow = home.locator("#log-follow")
    pressed = look_of(follow)
    follow.click()
    assert look_of(follow.and_(home.locator("[aria-pressed=false]"))) != pressed
