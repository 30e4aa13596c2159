"""A browser of one test."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import launch
from tests.e2e.settling import GENEROUS


@contextmanager
def open_browser(address: str) -> Iterator[Page]:
    """Opens a page at this address. Leaves no event loop behind. Errors that the browser reports fail the test."""
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        # `__Host-` cookies need https or a host called localhost.
        page = browser.new_page(base_url=address.replace("127.0.0.1", "localhost"))
        page.set_default_timeout(GENEROUS * 1000)
        expect.set_options(timeout=GENEROUS * 1000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "security policy" in said.text else None)
        yield page
        browser.close()
    assert complaints == []
