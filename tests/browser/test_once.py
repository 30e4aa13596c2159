"""A form that is sent twice, as by a double click, while its answer is pending: the first request is the only one."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, Route, expect

from accounts.models import User
from tests.accounts.phone import Phone
from tests.browser.project_pages import deploy_named
from tests.canaries import CANARY_PASSWORD
from tests.fakes.engine import MemoryEngine

SignIn = Callable[[User], None]


SUBMIT = """form => form.dispatchEvent(new SubmitEvent("submit", {bubbles: true, cancelable: true}))"""
"""Tells whether the form would be sent. Playwright cannot look at a page while a real request is pending."""


class Held:
    """Holds the POST requests of a page until they are let go."""

    def __init__(self, page: Page) -> None:
        self.routes: list[Route] = []
        self._is_over = False
        page.route("**", self._hold)

    def _hold(self, route: Route) -> None:
        if route.request.method == "POST":
            self.routes.append(route)
        if self._is_over or route.request.method != "POST":
            route.continue_()

    def let_go(self) -> None:
        self._is_over = True
        for route in self.routes:
            route.continue_()


def send_twice(button: Locator, then: Locator) -> None:
    """Sends the form by a slow double click. Only one request leaves, whose answer is shown."""
    page = button.page
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    place = box["x"] + 9, box["y"] + 9
    held = Held(page)
    with page.expect_request(lambda request: request.method == "POST"):
        page.mouse.click(*place)
    page.mouse.click(*place)
    held.let_go()
    expect(then).to_be_visible()
    assert len(held.routes) == 1
    page.unroute("**")


def test_the_codes_of_a_new_second_factor_are_shown(page: Page, alice: User, sign_in: SignIn, phone: Phone) -> None:
    sign_in(alice)
    page.goto("/settings/second-factor")
    page.get_by_label("Your password").fill(CANARY_PASSWORD)
    key, codes = page.locator("#second-factor-key"), page.locator("#recovery-codes")
    send_twice(page.get_by_role("button", name="Continue"), key)
    phone.scan(key.inner_text())
    page.get_by_label("Code").fill(phone.code())
    send_twice(page.get_by_role("button", name="Turn on"), codes)
    assert len(codes.inner_text().split()) == 10


def test_a_new_key_is_shown(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    page.locator("#id_name").fill("script")
    send_twice(page.get_by_role("button", name="Create key"), page.locator("#new-key"))


def test_links_for_invited_people_are_shown(page: Page, ada: User, sign_in: SignIn) -> None:
    sign_in(ada)
    page.goto("/admin/accounts/user/invite/")
    page.locator("#id_emails").fill("one@example.org")
    send_twice(page.locator("#content-main [type=submit]"), page.locator("#links"))
    expect(page.locator("#links")).to_contain_text("http")


def test_a_command_to_chosen_projects_is_sent_once(home: Page, engine: MemoryEngine) -> None:
    deploy_named(User.objects.get(), "Harbour pilot", 1)
    home.goto("/")
    home.get_by_label("Choose Harbour pilot").check()
    send_twice(home.get_by_role("button", name="Restart"), home.get_by_role("heading", name="Restart"))


def test_a_stopped_page_can_be_used_again(home: Page) -> None:
    project = deploy_named(User.objects.get(), "Harbour pilot", 1)
    home.goto(f"/projects/{project.pk}")
    held, button = Held(home), home.get_by_role("button", name="Restart")
    for _ in range(2):
        with home.expect_request(lambda request: request.method == "POST"):
            button.click(no_wait_after=True)
        home.context.new_cdp_session(home).send("Page.stopLoading")
        expect(button).not_to_contain_class("busy")
    assert len(held.routes) == 2


def test_a_slow_answer_is_awaited_for_a_minute(home: Page) -> None:
    home.goto("/settings")
    form = home.locator(".key-form")
    assert form.evaluate(SUBMIT)
    for seconds, is_sent in ((30, False), (31, True), (30, False)):
        home.clock.run_for(seconds * 1000)
        assert form.evaluate(SUBMIT) == is_sent


def test_a_download_can_be_repeated(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    for _ in range(2):
        with page.expect_download():
            page.get_by_role("button", name="Download my data").click()
