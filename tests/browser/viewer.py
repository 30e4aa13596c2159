"""Looks at pages as people do: on a wide and a narrow screen, light and dark; and as axe does."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from csp.utils import build_policy
from playwright.sync_api import Page, Request, Route

from accounts.models import User
from tests.browser.every_page import Seen
from tests.clients import browser_of

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()

WIDE, NARROWEST = 1280, 320

STILL = """() => document.getAnimations().forEach(each => {
  if (Number.isFinite(each.effect.getComputedTiming().endTime)) each.finish();
})"""
"""Or colours would be seen on their way from one scheme to the other."""

FIND = """rules => axe.run(document, {preload: false, resultTypes: ["violations"], ...rules}).then(told =>
  told.violations.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 160)}`)))"""

CONTRAST, NARROW = (
    {"runOnly": {"type": "rule", "values": [value]}} for value in ("color-contrast", "scrollable-region-focusable")
)
LOOKS: tuple[tuple[int, Any, Any], ...] = (
    (1280, "light", {}),
    (1280, "dark", CONTRAST),
    (390, "light", NARROW),
    (390, "dark", NARROW),
)
"""Each width and scheme, with what axe asks there beyond what it has asked before: all, and what may be another."""

CUT_OFF = """() => [...document.querySelectorAll('body *')]
  .filter(node => node.checkVisibility() && !node.closest('.visually-hidden, select'))
  .filter(node => node.getBoundingClientRect().right > innerWidth + 1 || node.matches('.results')
    && node.scrollWidth > node.clientWidth)
  .map(node => `cut off: ${node.outerHTML.slice(0, 100)}`)"""
"""In the admin, whose lists have to show all of their columns on a wide screen."""

OPEN = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
SENT_TWICE = """() => [...document.querySelectorAll('form[method=post]:not([hx-post], [data-again], #try form)')]
  .filter(form => [1, 2].every(() => form.dispatchEvent(new SubmitEvent('submit', {bubbles: true, cancelable: true}))))
  .map(form => `can be sent twice: ${form.outerHTML.slice(0, 160)}`)"""
"""Forms that the page sends again while their answer is pending."""

FOLLOWS_BROWSER = """() => {
  document.documentElement.style.fontSize = '20px';
  return getComputedStyle(document.body).fontSize === '20px';
}"""
TOO_SMALL = """() => [...document.querySelectorAll(
    'button, .button, .chip, summary, select, textarea, nav[aria-label=Main] a, .kinds label, .languages label, input')]
  .filter(node => node.checkVisibility() && !node.closest('.unseen') && !node.matches('[type=checkbox], [type=radio]'))
  .filter(node => node.getBoundingClientRect().height < 43.5)
  .map(node => `too small for a finger: ${node.outerHTML.slice(0, 120)}`)"""
"""On a telephone. Links in a text and boxes with a label of their own are not measured."""

SPACED = r"""() => [...document.querySelectorAll('p, li, dd, td, h1, h2, h3')]
  .filter(node => node.checkVisibility() && !node.querySelector('pre, code, p, li'))
  .flatMap(node => node.innerText.match(/\S+ [.,;](?=\s|$)/g) ?? [])
  .map(text => `a blank in front of a sign: ${text}`)"""

CLIPPED = """() => [...document.querySelectorAll('main *, header *, footer *')]
  .filter(node => node.checkVisibility() && node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .filter(node => !node.closest('.unseen, .who, input, textarea, select, svg'))
  .filter(node => ['hidden', 'clip'].includes(getComputedStyle(node).overflowX))
  .map(node => `hides a part: ${node.outerHTML.slice(0, 100)}`)"""
TWICE = {"fontSizes": {"standard": 32, "fixed": 26}}
"""The sizes of letters in a browser that is set to 200 %, in pixels."""
USUAL = {"fontSizes": {"standard": 16, "fixed": 13}}

STICKS_OUT = "document.documentElement.scrollWidth - innerWidth"


def faults_of(page: Page, rules: Any = None) -> list[str]:
    """What axe finds on the current page: the name of each rule and where it is broken."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    page.evaluate(STILL)
    found: list[str] = page.evaluate(FIND, rules or {})
    return found


class Viewer:
    """Collects in `faults` what is wrong with the pages. Saves pictures to a folder, if one is given."""

    def __init__(self, page: Page, complaints: list[str], server: str, pictures: str) -> None:
        self.faults: list[str] = []
        self._page, self._complaints, self._server = page, complaints, server
        self._pictures = Path(pictures) if pictures else None
        self._visitor: User | None = None
        self._missing: list[str] = []
        page.on("requestfailed", self._note_missing)

    def look_at(self, seen: Seen) -> None:
        self._become(seen.visitor)
        self._page.set_viewport_size({"width": WIDE, "height": 844})
        self._page.emulate_media(color_scheme="light")
        self._load(seen)
        self._page.evaluate(OPEN)
        for width, scheme, rules in LOOKS:
            self._look(seen, width, scheme, rules)
        self._resize_text(seen)
        self.faults += [f"{seen.name}: {form}" for form in self._page.evaluate(SENT_TWICE)]
        self.faults += [f"{seen.name}: {text}" for text in self._complaints if "Failed to load resource" not in text]
        self._complaints.clear()
        if not seen.tells_call:
            self.faults.append(f"{seen.name}: neither its request of the API nor why there is none")

    def _resize_text(self, seen: Seen) -> None:
        """As on the narrowest of telephones, and for somebody who has chosen larger letters in the browser."""
        if seen.address.startswith("/admin/"):
            return
        self._page.set_viewport_size({"width": NARROWEST, "height": 844})
        if (wide := self._page.evaluate(STICKS_OUT)) > 0:
            self.faults.append(f"{seen.name}-{NARROWEST}: {wide} px stick out")
        if not self._page.evaluate(FOLLOWS_BROWSER):
            self.faults.append(f"{seen.name}: ignores the size of letters that the browser is set to")
        self._page.evaluate("document.documentElement.style.fontSize = ''")
        self._double_text(seen)

    def _double_text(self, seen: Seen) -> None:
        """Nothing is lost, and nothing has to be scrolled sideways, with letters of twice the size."""
        browser = self._page.context.new_cdp_session(self._page)
        browser.send("Page.setFontSizes", TWICE)
        for width in (WIDE, 390):
            self._page.set_viewport_size({"width": width, "height": 844})
            if (wide := self._page.evaluate(STICKS_OUT)) > 0:
                self.faults.append(f"{seen.name}-{width}, 200 %: {wide} px stick out")
            self.faults += [f"{seen.name}-{width}, 200 %: {fault}" for fault in self._page.evaluate(CLIPPED)]
        browser.send("Page.setFontSizes", USUAL)
        browser.detach()

    def _load(self, seen: Seen) -> None:
        # A route that ends while the page loads (`times=1`) can leave the browser waiting for ever.
        if seen.sent:
            self._page.route(f"**{seen.address}", lambda route: _answer(route, seen))
        self._missing.clear()
        self._page.goto(seen.address)
        if seen.sent:
            self._page.unroute(f"**{seen.address}")
        self.faults += [f"{seen.name}: did not load {each}" for each in self._missing]

    def _note_missing(self, request: Request) -> None:
        if "/static/" in request.url:
            self._missing.append(f"{request.url}: {request.failure}")

    def _look(self, seen: Seen, width: int, scheme: Any, rules: Any) -> None:
        self._page.set_viewport_size({"width": width, "height": 844})
        self._page.emulate_media(color_scheme=scheme)
        name = f"{seen.name}-{width}-{scheme}"
        found = faults_of(self._page, rules)
        if width == WIDE and seen.address.startswith("/admin/"):
            found += self._page.evaluate(CUT_OFF)
        if width < WIDE and not seen.address.startswith("/admin/"):
            found += self._page.evaluate(TOO_SMALL) + self._page.evaluate(SPACED)
        if (wide := self._page.evaluate(STICKS_OUT)) > 0:
            found.append(f"{wide} px stick out")
        self.faults += [f"{name}: {fault}" for fault in found]
        if self._pictures:
            self._page.screenshot(path=self._pictures / f"{name}.png", full_page=True)
            with (self._pictures / "faults.txt").open("a") as told:
                told.writelines(f"{name}: {fault}\n" for fault in found)

    def _become(self, visitor: User | None) -> None:
        if visitor == self._visitor:
            return
        self._visitor = visitor
        self._page.context.clear_cookies()
        address = self._server.replace("http:", "https:")  # or the browser would take no `__Host-` cookie from here
        for name, cookie in browser_of(visitor).cookies.items():
            self._page.context.add_cookies(
                [{"name": name, "value": cookie.value, "url": address, "httpOnly": True, "sameSite": "Lax"}]
            )


def _answer(route: Route, seen: Seen) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": seen.policy or build_policy()}
    route.fulfill(status=seen.status, body=seen.sent, headers=headers)
