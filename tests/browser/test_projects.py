"""The life of a project in a real browser: deployed, watched, stopped, changed and deleted, by keyboard too.

The fixture `page` fails a test at whose end the browser has complained of a script or of the content security policy.
"""

import re

from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from containers.vocabulary import Health
from projects.models import Project
from projects.rules.permissions import Egress
from tests.browser.following import follow
from tests.browser.project_pages import deploy_by_form, let_pass, tab_to
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_PASSWORD, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine


def status(page: Page) -> str:
    return page.locator("#status").inner_text()


def test_the_keyboard_is_enough_to_deploy_and_the_page_shows_it_get_ready(home: Page, engine: MemoryEngine) -> None:
    engine.ready_after_deploy = False
    keys = home.keyboard
    home.get_by_role("link", name="Deploy an agent").focus()
    keys.press("Enter")
    expect(home.get_by_role("heading", name="New project")).to_be_visible()
    home.get_by_role("link", name="Settings").focus()
    for label, typed in (
        ("Name", "Harbour pilot"),
        ("Bot token", CANARY_TELEGRAM_TOKEN),
        ("API key", CANARY_API_KEY),
        ("Instructions", "Be brief."),
        ("Allowed users", "@alice_a"),
    ):
        tab_to(home.get_by_label(label))
        keys.type(typed)
    tab_to(home.get_by_role("button", name="Deploy"))
    expect(home.get_by_role("button", name="Deploy")).to_be_focused()
    keys.press("Enter")

    expect(home.get_by_text("“Harbour pilot” is deployed.")).to_be_visible()
    expect(home.locator("#status")).to_have_text("Starting")
    project = Project.objects.get()
    assert project.settings == {"instructions": "Be brief.", "allowed_users": ["@alice_a"]}

    engine.set_health(project.container_name, Health.HEALTHY)
    let_pass(home)
    expect(home.locator("#status")).to_have_text("Running")


def test_stop_start_and_restart(home: Page, engine: MemoryEngine) -> None:
    name = deploy_by_form(home).container_name
    expect(home.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    home.get_by_role("button", name="Stop").click()
    expect(home.get_by_text("“Harbour pilot” is stopped.")).to_be_visible()
    assert (status(home), engine.containers[name].state) == ("Stopped", "exited")
    expect(home.get_by_role("button", name="Stop")).to_be_disabled()

    home.get_by_role("button", name="Start", exact=True).click()
    expect(home.get_by_text("“Harbour pilot” is started.")).to_be_visible()
    before = engine.containers[name].container_id
    home.get_by_role("button", name="Restart").click()
    expect(home.get_by_text("“Harbour pilot” is restarted.")).to_be_visible()
    assert engine.containers[name].container_id != before


def test_a_change_with_a_new_key_and_then_the_end(home: Page, engine: MemoryEngine) -> None:
    name = deploy_by_form(home).container_name
    home.get_by_role("link", name="Change").click()
    home.get_by_label("Name").fill("Night watch")
    home.get_by_label("New API key").fill(CANARY_OTHER_API_KEY)
    home.get_by_label("Restart now").check()
    home.get_by_role("button", name="Save").click()
    expect(home.get_by_text("The change is saved. “Night watch” is restarted.")).to_be_visible()
    assert Project.objects.get().decrypt_credential("api_key") == CANARY_OTHER_API_KEY
    assert len(set(engine.secrets_of(name).values())) == 2

    home.get_by_role("link", name="Delete").click()
    home.get_by_label("Name").fill("Night watch")
    home.get_by_role("button", name="Delete project").click()
    expect(home.get_by_text("“Night watch” is deleted.")).to_be_visible()
    expect(home.get_by_role("heading", name="Deploy your first agent")).to_be_visible()
    assert not engine.containers


def test_the_keyboard_is_enough_to_choose_what_an_agent_reaches(home: Page, engine: MemoryEngine) -> None:
    deploy_by_form(home)
    keys, change = home.keyboard, home.url + "/change"
    for key, egress in (("ArrowDown", Egress.GATEWAY), ("ArrowUp", Egress.INTERNET)):
        home.goto(change)
        choice = home.get_by_label("What it reaches")
        tab_to(choice)
        expect(choice).to_have_accessible_description(re.compile("only the gateway"))
        keys.press(key)
        expect(choice).to_have_value(egress)
        tab_to(home.get_by_role("button", name="Save"))
        keys.press("Enter")
        expect(home.get_by_text("The change is saved.")).to_be_visible()
        assert Project.objects.get().own_egress == egress
        told = home.get_by_text("Reaches", exact=True).locator("xpath=following-sibling::dd")
        expect(told).to_have_text(egress.label)


def test_everything_works_without_scripts(
    browser: Browser, live_server: LiveServer, alice: User, engine: MemoryEngine
) -> None:
    page = browser.new_page(base_url=live_server.url, java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Email").fill(alice.email)
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    follow(page.get_by_role("button", name="Sign in"))
    project = deploy_by_form(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("“Harbour pilot” is stopped.")).to_be_visible()
    page.goto(f"/projects/{project.pk}/delete")
    page.get_by_label("Name").fill("Harbour pilot")
    page.get_by_role("button", name="Delete project").click()
    expect(page.get_by_text("“Harbour pilot” is deleted.")).to_be_visible()
    page.close()


def test_a_moment_is_told_in_the_readers_own_zone_on_hover(home: Page, engine: MemoryEngine) -> None:
    deploy_by_form(home)
    home.context.new_cdp_session(home).send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    home.evaluate("document.dispatchEvent(new Event('htmx:load'))")
    expect(home.locator("time[data-ago]").first).to_have_attribute("title", re.compile(r"GMT\+5:30$"))


def test_the_log_is_followed_searched_narrowed_down_and_paused(home: Page, engine: MemoryEngine) -> None:
    project = deploy_by_form(home)
    lines = home.get_by_role("region", name="Lines of the log").locator(".line")
    home.clock.resume()
    report = 'AGENT-STATUS {"v":1,"state":"running","code":null,"detail":null}'
    for line in (report, "2026-05-01 12:00:00,1 ERROR no way", "hello"):
        engine.log(project.container_name, line)
    expect(lines).to_have_text([re.compile(r"^\d\d:\d\d:\d\d (Ready|no way|hello)$")] * 3)
    expect(home.get_by_text("It has not printed anything yet.")).to_be_hidden()
    home.get_by_label("Search the log").fill("WAY")
    expect(home.get_by_text("1 of 3 lines")).to_be_visible()
    home.get_by_label("Search the log").fill("")
    home.locator("#log-level").select_option("Its status")
    expect(lines.filter(visible=True)).to_have_text([re.compile("Ready$")])
    home.locator("#log-copy").click()
    home.wait_for_function("() => navigator.clipboard.readText().then(text => /^[0-9:]{8} Ready$/.test(text))")
    home.locator("#log-level").select_option("All lines")
    home.get_by_role("button", name="Wrap").click()
    expect(home.locator("#lines.unwrapped")).to_be_visible()
    home.get_by_role("button", name="Follow").press("Enter")
    expect(home.get_by_text("Paused.")).to_be_visible()
    engine.log(project.container_name, "while paused")
    home.get_by_role("button", name="Follow").press("Enter")
    expect(lines).to_have_count(4)
    expect(lines.last).to_contain_text("while paused")
    with home.expect_download() as download:
        home.get_by_role("link", name="Download", exact=True).click()
    assert download.value.path().read_text().splitlines()[0].endswith(report)
