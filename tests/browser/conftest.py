"""A real browser. Every page is watched: a breach of the content security policy or a script error fails the test."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.clients import browser_of

CHROMIUM = os.environ.get("BERTH_TEST_CHROMIUM") or which("chromium-headless-shell") or which("chromium")
QUIET = Path(__file__).with_name("quiet_chromium.py")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PICTURES = os.environ.get("BERTH_TEST_PICTURES")
"""The folder for pictures of every page, where people want them. Else none are taken: they cost more than the pages."""
LOOKS: list[tuple[int, Literal["dark", "light"]]] = [(390, "dark"), (1280, "light")]
"""Each width and each colour scheme; where people want the pictures, every pair of them."""
if PICTURES:
    LOOKS += [(390, "light"), (1280, "dark")]

PATIENCE = 60_000.0
"""Milliseconds."""

ANSWERED_WITHIN = 1.0
"""Seconds after a test."""

_WATCH = """
addEventListener("securitypolicyviolation", event =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


def launch(playwright: Playwright) -> Browser:
    """All waits have a long limit: a busy machine is no fault of a page."""
    expect.set_options(timeout=PATIENCE)
    return playwright.chromium.launch(
        executable_path=QUIET, args=ARGUMENTS, env={**os.environ, "BERTH_TEST_CHROMIUM": CHROMIUM or "chromium"}
    )


@pytest.fixture(scope="session", autouse=True)
def _orm_beside_playwright() -> Iterator[None]:
    """Playwright's synchronous API keeps an event loop in this thread, which Django takes for asynchronous code."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    yield
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    running = launch(playwright)
    yield running
    running.close()


@pytest.fixture(autouse=True)
def _public_address(live_server: LiveServer, settings: Settings) -> None:
    """The server's own, to which links in mails and in the admin lead."""
    settings.BERTH_PUBLIC_URL, settings.BERTH_PORT = live_server.url, live_server.thread.port


@pytest.fixture
def context(browser: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
    # `__Host-` cookies need https or a host called localhost.
    context = browser.new_context(base_url=live_server.url, permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    context.add_init_script(_WATCH)
    yield context
    context.close()
    _wait_for_last_answers()


def _wait_for_last_answers() -> None:
    """What a page has asked for last is not answered in the middle of the next test, but for a log that is followed:
    its thread sees only at the next sign of life that nobody listens.
    """
    until = time.monotonic() + ANSWERED_WITHIN
    while time.monotonic() < until and any("process_request_thread" in each.name for each in threading.enumerate()):
        time.sleep(0.02)


@pytest.fixture
def complaints() -> list[str]:
    """The complaints of the browser; must be empty at the end."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert [text for text in complaints if "Failed to load resource" not in text] == []


@pytest.fixture
def sign_in(page: Page, live_server: LiveServer) -> Callable[[User], None]:
    """Opens the settings with a new session of the user's. Tests of signing in go through its page."""

    def with_a_session(user: User) -> None:
        page.context.clear_cookies()
        address = live_server.url.replace("http:", "https:")  # or the browser would take no `__Host-` cookie from here
        for name, cookie in browser_of(user).cookies.items():
            page.context.add_cookies(
                [{"name": name, "value": cookie.value, "url": address, "httpOnly": True, "sameSite": "Lax"}]
            )
        page.goto("/settings")

    return with_a_session


@pytest.fixture
def screens(page: Page, pytestconfig: pytest.Config) -> Callable[[str], Iterator[int]]:
    """Shows the page on each screen and yields its width, last on the one that the test goes on with.

    That is another one for the next commit. A name takes the pictures.
    """
    first = int(pytestconfig.getoption("--sample-seed")) % len(LOOKS)
    looks = [*LOOKS[first + 1 :], *LOOKS[: first + 1]]

    def show(name: str) -> Iterator[int]:
        for width, scheme in looks:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 844})
            if PICTURES and name:
                page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)
            yield width

    assert [*show("")]
    return show


@pytest.fixture
def look(page: Page, screens: Callable[[str], Iterator[int]]) -> Callable[[str], None]:
    """Checks that nothing of the page is wider than a screen, and takes its pictures."""

    def fits(name: str) -> None:
        for width in screens(name):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)

    return fits


@pytest.fixture
def home(page: Page, alice: User, sign_in: Callable[[User], None]) -> Page:
    """Alice's list of projects, with a clock that the test moves on."""
    sign_in(alice)
    page.clock.install()
    page.goto("/")
    return page
