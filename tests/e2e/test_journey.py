"""The whole way of an owner in a real browser, on a real engine: from signing in to the end of an agent.

From page to page the palette leads, by the keyboard alone.
"""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.canaries import CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_PASSWORD
from tests.e2e.service import EMAIL, Service
from tests.e2e.settling import GENEROUS
from tests.fakes.telegram import FakeTelegram

pytestmark = [pytest.mark.docker, pytest.mark.browser, pytest.mark.timeout(600)]

ALICE = 1001
ONCE = "window.isTheSamePage = true"


def test_from_signing_in_to_the_end_of_an_agent(page: Page, service: Service, telegram: FakeTelegram) -> None:
    sign_in_and_use_a_key(page, service)
    deploy(page)
    talk(page, telegram)
    look_through_the_log(page)
    take_all_data_along(page)
    crash_and_mend(page, telegram)
    delete(page)
    chosen = {"label": [f"berth.instance={service.environment['BERTH_INSTANCE']}", "berth.project"]}
    assert service.engine.containers(all=True, filters=chosen) == []


def sign_in_and_use_a_key(page: Page, service: Service) -> None:
    page.goto("/")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Deploy your first agent")).to_be_visible()
    go_by_keyboard(page, "Settings")
    page.locator("#id_name").fill("deploy script")
    page.get_by_role("button", name="Create key").click()
    told = service.call("GET", "/api/me", token=page.locator("#new-key").inner_text())
    assert (told.json["email"], told.json["token"]["name"]) == (EMAIL, "deploy script")


def go_by_keyboard(page: Page, where: str) -> None:
    """Opens a page by the palette, which listens once its button is shown."""
    expect(page.locator("#open-palette")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Where to")).to_be_focused()
    page.keyboard.type(where)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=where, level=1)).to_be_visible()


def deploy(page: Page) -> None:
    """Deploys by the form, which meanwhile shows the bot and the provider. The steps continue by themselves."""
    go_by_keyboard(page, "New project")
    page.get_by_label("Name").fill("Harbour pilot")
    page.get_by_label("Bot token").fill(CANARY_OTHER_TELEGRAM_TOKEN)
    page.get_by_label("API key").fill(CANARY_API_KEY)
    expect(page.get_by_text("✓ @other_bot")).to_be_visible()
    assert page.get_by_alt_text("Picture of the bot").evaluate("image => image.decode().then(() => image.naturalWidth)")
    page.get_by_role("button", name="Deploy").click()
    expect(page.get_by_role("heading", name="Harbour pilot")).to_be_visible()
    expect(page.locator("#status")).to_have_text("Running")
    polling = page.get_by_role("listitem").filter(has_text="Polling Telegram")
    expect(polling).to_have_text(re.compile(r"done\s+\d+\.\d s, \d\d:\d\d:\d\d UTC\s*$"))
    page.evaluate(ONCE)


def talk(page: Page, telegram: FakeTelegram) -> None:
    """Pairs by the link on the page, and sees in the log that a message was answered, and how long that took."""
    link = page.get_by_role("link", name="Open in Telegram").get_attribute("href") or ""
    for words in (f"/start {link.partition('?start=')[2]}", "Is the tide in?"):
        telegram.say(CANARY_OTHER_TELEGRAM_TOKEN, ALICE, words)
    telegram.wait_for_message(CANARY_OTHER_TELEGRAM_TOKEN, containing="Is the tide in?", timeout=GENEROUS)
    lines = page.get_by_role("region", name="Lines of the log").locator(".line")
    expect(lines.filter(has_text=re.compile(r"Answered in [0-9.]+ s, \d+ tokens$"))).to_be_visible()
    expect(lines.filter(has_text="tide")).to_have_count(0)
    expect(page.get_by_text("It answers nobody yet.")).to_be_hidden()
    assert page.evaluate("window.isTheSamePage")


def look_through_the_log(page: Page) -> None:
    page.get_by_label("Search the log").fill("answered")
    expect(page.get_by_text(re.compile(r"^1 of \d+ lines$"))).to_be_visible()
    page.get_by_label("Search the log").fill("")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_text("Paused.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    assert '"event": "answered"' in Path(download.value.path()).read_text()


def take_all_data_along(page: Page) -> None:
    with page.context.expect_page() as opened:
        page.evaluate("open('/settings')")
    settings = opened.value
    with settings.expect_download() as download:
        settings.get_by_role("button", name="Download my data").click()
    with ZipFile(download.value.path()) as archive:
        assert "Harbour pilot" in archive.read("project.jsonl").decode()
    settings.close()


def crash_and_mend(page: Page, telegram: FakeTelegram) -> None:
    telegram.revoke(CANARY_OTHER_TELEGRAM_TOKEN)
    telegram.say(CANARY_OTHER_TELEGRAM_TOKEN, ALICE, "Still there?")  # ends its long poll
    expect(page.locator("#status")).to_have_text("Crashed")
    expect(page.locator("#reason")).to_contain_text("Telegram refused the bot token. Paste a new one from @BotFather")
    assert page.evaluate("window.isTheSamePage")
    telegram.restore(CANARY_OTHER_TELEGRAM_TOKEN)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#status")).to_have_text("Running")
    telegram.wait_for_message(CANARY_OTHER_TELEGRAM_TOKEN, containing="Still there?", timeout=GENEROUS)


def delete(page: Page) -> None:
    page.get_by_role("link", name="Delete").click()
    page.get_by_label("Name").fill("Harbour pilot")
    page.get_by_role("button", name="Delete project").click()
    expect(page.get_by_role("heading", name="Deploy your first agent")).to_be_visible()
