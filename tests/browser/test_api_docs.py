"""The API is readable in a browser, from files of this service only. (`page` watches for breaches of its CSP.)"""

import re

from playwright.sync_api import Page, expect


def test_the_docs_show_every_group_of_operations(page: Page) -> None:
    page.goto("/api/docs")
    expect(page.locator(".info .title")).to_contain_text("Berth")
    expect(page.get_by_text("/api/auth/login", exact=True)).to_be_visible()
    expect(page.get_by_text("/api/projects", exact=True).first).to_be_visible()


def test_an_operation_can_be_opened_and_tried(page: Page) -> None:
    page.goto("/api/docs")
    page.locator(".opblock-summary-get", has_text="/api/auth/session").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")


def test_the_docs_load_nothing_from_elsewhere(page: Page) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto("/api/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    elsewhere = [url for url in addresses if not re.match(r"http://localhost:\d+/|data:", url)]
    assert addresses
    assert elsewhere == []
