"""The API is readable and can be tried in a browser, from files of this service only. (`page` watches for breaches.)"""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import ApiKey, User
from tests.browser.conftest import PICTURES
from tests.browser.viewer import faults_of

PARSES = "texts => texts.map(text => { new (async () => {}).constructor(text); return text.length; })"


def open_some(page: Page) -> None:
    """Everything if pictures are wanted; otherwise the first item of each part."""
    chosen = "details" if PICTURES else "h2 + details, details:has(#create_project)"
    page.evaluate("chosen => { for (const node of document.querySelectorAll(chosen)) node.open = true; }", chosen)


def test_the_docs_are_small_complete_and_load_nothing_from_elsewhere(page: Page, look: Callable[[str], None]) -> None:
    sizes: dict[str, int] = {}
    page.on("requestfinished", lambda request: sizes.update({request.url: request.sizes()["responseBodySize"]}))
    page.goto("/api/docs")
    expect(page.get_by_role("heading", level=1)).to_have_text("API of Berth")
    expect(page.get_by_role("link", name="Sign in to try it")).to_be_visible()
    look("docs")
    assert [url for url in sizes if not re.match(r"http://localhost:\d+/", url)] == []
    assert 20_000 < sum(sizes.values()) < 100_000
    open_some(page)
    page.get_by_role("button", name="Try it create_project").click()
    look("docs-open")
    assert faults_of(page) == []


def test_every_javascript_sample_parses_in_a_browser(page: Page) -> None:
    page.goto("/api/docs")
    samples = page.locator("pre.sample.javascript").all_text_contents()
    page.goto("about:blank")
    assert len(page.evaluate(PARSES, samples)) > 20


def test_an_operation_without_a_token_is_tried_and_a_sample_copied(page: Page) -> None:
    page.goto("/api/docs#session")
    operation = page.locator("[data-operation='GET /api/auth/session']")
    operation.get_by_role("button", name="Copy curl of session").click()
    expect(operation.get_by_text("Copied.").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("curl -s")
    page.get_by_role("radio", name="Python").check()
    expect(operation.locator("pre.sample.curl")).to_be_hidden()
    expect(operation.locator("pre.sample.python")).to_be_visible()
    operation.get_by_role("button", name="Try it").click()
    operation.get_by_role("button", name="Send").click()
    expect(operation.get_by_role("status").last).to_contain_text('"authenticated": false')


@pytest.mark.usefixtures("engine")
def test_a_signed_in_user_gets_a_token_and_sends_requests_with_it(
    page: Page, alice: User, sign_in: Callable[[User], None]
) -> None:
    sign_in(alice)
    page.goto("/api/docs#control_projects")
    page.get_by_role("button", name="Get a token for ten minutes").click()
    expect(page.get_by_text("The token works until")).to_be_visible()
    assert ApiKey.objects.get().user == alice
    operation = page.locator("[data-operation='POST /api/projects/control']")
    operation.get_by_role("button", name="Try it").click()
    operation.get_by_role("button", name="Send").click()
    answer = operation.get_by_role("status").last
    expect(answer).to_contain_text("200")
    expect(answer).to_contain_text("not_found")
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie.length]") == [0, 0, 0]


def test_a_second_token_outlives_the_first(page: Page, alice: User, sign_in: Callable[[User], None]) -> None:
    sign_in(alice)
    page.clock.install()
    page.goto("/api/docs")
    get = page.get_by_role("button", name="Get a token for ten minutes")
    get.click()
    expect(page.get_by_text("The token works until")).to_be_visible()
    page.clock.run_for(9 * 60_000)
    ApiKey.objects.all().delete()
    until = timezone.now() + timedelta(minutes=19)
    given = {"token": "berth_second", "expires_at": until.isoformat()}
    page.route("**/settings/token-for-docs", lambda route: route.fulfill(json=given))
    with page.expect_response("**/settings/token-for-docs"):
        get.click()
    expect(page.get_by_text("The token works until")).to_be_visible()
    page.clock.run_for(2 * 60_000)
    expect(page.get_by_text("The token works until")).to_be_visible()
    page.clock.run_for(9 * 60_000)
    expect(page.get_by_text("The token has expired.")).to_be_visible()


def test_no_redirect_target_is_listed_in_the_docs(page: Page) -> None:
    """Such as the page for setting up a second factor, if the installation requires one."""
    page.route("**/settings/token-for-docs", lambda route: route.fulfill(status=302, headers={"Location": "/sign-in"}))
    page.goto("/api/docs")
    page.evaluate("offer()")
    expect(page.get_by_label("Password")).to_have_count(0)
    expect(page.locator("#try")).to_be_hidden()
