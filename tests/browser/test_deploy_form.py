"""The form of a new project in a real browser: what it says while it is filled in, and that it loses nothing."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Response, Route, expect

from accounts.models import User
from containers.vocabulary import Health
from projects.models import Project
from tests.browser.project_pages import deploy_named, fill_in, let_pass
from tests.canaries import CANARY_API_KEY, CANARY_PASSWORD, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine

OF_SERVER = "credential-of-a-tool-server"


def test_a_refused_form_keeps_its_values_and_moves_to_the_wrong_field(home: Page) -> None:
    fill_in(home, name="x" * 65)
    home.get_by_role("radio", name="pro").check()
    home.get_by_label("Instructions").fill("Two\nlines")
    home.get_by_text("More settings").click()
    home.locator("#id_server_credentials").fill(f"https://tools.example/ {OF_SERVER}")
    home.get_by_role("button", name="Deploy").click()

    expect(home).to_have_title(re.compile("^Error: "))
    summary = home.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).not_to_contain_text("Paste again")
    expect(home.get_by_label("Instructions")).to_have_value("Two\nlines")
    expect(home.get_by_role("radio", name="pro")).to_be_checked()
    expect(home.get_by_label("Bot token")).to_have_value(CANARY_TELEGRAM_TOKEN)
    expect(home.get_by_label("API key")).to_have_value(CANARY_API_KEY)
    expect(home.locator("#id_server_credentials")).to_have_value(f"https://tools.example/ {OF_SERVER}")
    expect(home.get_by_label("Name")).to_have_accessible_description(re.compile("no more than 64 characters"))
    home.keyboard.press("Tab")
    home.keyboard.press("Enter")
    expect(home.get_by_label("Name")).to_be_focused()


def test_a_wrong_value_in_a_folded_section_is_unfolded_and_focused(home: Page) -> None:
    project = deploy_named(User.objects.get(), "Harbour pilot", 1)
    number, more = home.get_by_label("Messages a minute"), home.get_by_text("More settings")
    for button in ("Save", "Deploy"):
        if button == "Save":
            home.goto(f"/projects/{project.pk}/change")
        else:
            fill_in(home)
        more.click()
        number.fill("5000")
        more.click()
        expect(number).to_be_hidden()
        home.get_by_role("button", name=button, exact=True).click()
        expect(number).to_be_visible()
        expect(number).to_be_focused()


def test_the_form_shows_the_checks_and_leads_to_the_ready_bot(home: Page, engine: MemoryEngine) -> None:
    engine.ready_after_deploy = False
    fill_in(home, name="x" * 65)
    home.clock.run_for(1000)
    expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    expect(home.locator("#key-hint")).to_contain_text("A key of openai")
    expect(home.locator("#models option")).to_have_attribute("value", "gpt-5.4-mini")
    home.get_by_role("button", name="Check").click()
    expect(home.locator("#check-result")).to_contain_text("no more than 64 characters")
    home.get_by_label("Name").fill("Harbour pilot")
    home.get_by_role("button", name="Check").click()
    expect(home.locator("#check-result")).to_contain_text("Everything is fine")

    home.get_by_role("button", name="Deploy").click()
    steps = home.get_by_role("region", name="Getting ready").get_by_role("listitem")
    expect(steps.last).to_contain_text("under way")
    Project.objects.update(bot_username="harbour_pilot_bot")
    engine.set_health(Project.objects.get().container_name, Health.HEALTHY)
    let_pass(home)
    ready = home.get_by_role("region", name="Ready")
    expect(ready.get_by_role("link", name="Open in Telegram")).to_be_visible()
    expect(ready.get_by_role("img", name="QR code")).to_be_visible()


def test_what_is_typed_before_the_scripts_have_loaded_is_checked(home: Page) -> None:
    held: list[Route] = []
    home.route("**/htmx*.js", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    home.goto("/projects/new", wait_until="commit")
    home.get_by_label("Bot token").fill(CANARY_TELEGRAM_TOKEN)
    home.get_by_label("API key").fill(CANARY_API_KEY)
    for route in held:
        route.continue_()
    expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    expect(home.locator("#key-hint")).to_contain_text("A key of openai")


def test_an_unanswered_deploy_loses_no_input(home: Page, complaints: list[str]) -> None:
    fill_in(home)
    home.route("**/projects/new", lambda route: route.abort())
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("alert")).to_contain_text("Nothing that you typed is lost")
    expect(home.get_by_label("Bot token")).to_have_value(CANARY_TELEGRAM_TOKEN)
    home.unroute("**/projects/new")
    complaints.clear()
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("heading", name="Harbour pilot")).to_be_visible()


@pytest.mark.parametrize("button", ["Deploy", "Check"])
def test_after_a_sign_in_in_another_tab_the_form_works(home: Page, complaints: list[str], button: str) -> None:
    """The browser's CSRF token is then another than that of the form."""
    fill_in(home)
    expect(home.locator("#key-hint")).to_contain_text("A key of openai")
    expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    Session.objects.all().delete()
    home.get_by_role("button", name=button).click()
    trouble = home.get_by_role("alert")
    expect(trouble).to_contain_text("Nothing that you typed is lost")
    with home.expect_popup() as opened:
        trouble.get_by_role("link", name="sign in in another tab").click()
    opened.value.get_by_label("Email").fill(User.objects.get().email)
    opened.value.get_by_label("Password").fill(CANARY_PASSWORD)
    opened.value.get_by_role("button", name="Sign in").click()
    expect(opened.value.get_by_role("button", name="Sign out", exact=True)).to_be_visible()
    home.get_by_role("button", name=button).click()
    if button == "Deploy":
        expect(home.get_by_role("heading", name="Harbour pilot")).to_be_visible()
    else:
        expect(home.locator("#check-result")).to_contain_text("Everything is fine")
        expect(trouble).to_be_hidden()
    complaints.clear()


@pytest.mark.parametrize("status", [403, 500])
def test_a_form_that_stays_refused_is_sent_twice_at_most(home: Page, complaints: list[str], status: int) -> None:
    """It is so each time that somebody presses the button."""
    fill_in(home)
    times = 2 if status == 403 else 1
    sent: list[Route] = []

    def refuse(route: Route) -> None:
        sent.append(route)
        route.fulfill(status=status, body="The form has expired.")

    def is_last(answer: Response) -> bool:
        return answer.status == status and len(sent) % times == 0

    home.route("**/projects/new/check", refuse)
    for _ in range(2):
        with home.expect_response(is_last):
            home.get_by_role("button", name="Check").click()
        expect(home.get_by_role("alert")).to_contain_text("Nothing that you typed is lost")
    assert len(sent) == 2 * times
    complaints.clear()


def test_a_late_check_does_not_hide_that_a_deploy_failed(home: Page, complaints: list[str]) -> None:
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    home.route("**/projects/new/bot", hold)
    home.route("**/projects/new", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    with home.expect_request("**/projects/new/bot"):
        fill_in(home)
    home.get_by_role("button", name="Deploy").click()
    alert = home.get_by_role("alert")
    expect(alert).to_contain_text("Nothing that you typed is lost")
    for route in late:
        route.continue_()
    expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    expect(alert).to_contain_text("Nothing that you typed is lost")
    home.unroute("**/projects/new")
    complaints.clear()
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("heading", name="Harbour pilot")).to_be_visible()


def test_the_steps_stay_if_the_session_has_ended(home: Page, engine: MemoryEngine, complaints: list[str]) -> None:
    engine.ready_after_deploy = False
    fill_in(home)
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("region", name="Getting ready")).to_be_visible()
    Session.objects.all().delete()
    with home.expect_response(re.compile("/sign-in.*steps")):
        let_pass(home)
    expect(home.get_by_text("not up to date")).to_be_visible()
    expect(home.get_by_label("Password")).to_have_count(0)
    expect(home.get_by_role("region", name="Getting ready")).to_be_visible()
    home.goto("about:blank")
    complaints.clear()  # the log, which the page follows, has ended with the session
