"""Going from page to page by links and buttons."""

from playwright.sync_api import Locator


def follow(locator: Locator) -> None:
    """Clicks on what leads to another page, and waits until that one is loaded.

    A click ends when it is made. What is done with the page next would meet either one, or break off the way there.
    """
    with locator.page.expect_event("load"):
        locator.click()
