"""What a page says if a request of its user's gets no answer, or that of a proxy: nothing typed is lost, and it can be
made again."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.project_pages import deploy_named, fill_in
from tests.browser.test_without_answers import FAULTS
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine

QUICKLY = "htmx.config.timeout = 400"
"""Milliseconds, instead of 45 seconds."""
NOT_ANSWERED = "The server did not answer correctly"


def search(page: Page) -> None:
    page.get_by_label("Search", exact=True).fill("Night")
    page.clock.run_for(1000)


def submit(page: Page) -> None:
    page.get_by_label("Search", exact=True).fill("Night")
    page.get_by_role("button", name="Find").click()


def sort(page: Page) -> None:
    page.get_by_label("Order").select_option("By name")


def narrow(page: Page) -> None:
    page.get_by_role("link", name="Running 2").click()


def press(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=name, exact=True).click()


@dataclass(frozen=True)
class Asked:
    """`done` is text that is only there once the request was answered."""

    where: str
    path: str
    ask: Callable[[Page], None]
    done: str


REQUESTS = {
    "search": Asked("/", "**/?q=*", search, "1 shown"),
    "find": Asked("/", "**/?q=*", submit, "1 shown"),
    "sort": Asked("/", "**/?q=*", sort, "1 shown"),
    "narrow": Asked("/", "**/?status=*", narrow, "2 shown"),
    "deploy": Asked("/projects/new", "**/projects/new", press("Deploy"), "Recent log"),
    "check": Asked("/projects/new", "**/projects/new/check", press("Check"), "Everything is fine"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_without_an_answer_is_reported_and_can_be_repeated(
    home: Page, engine: MemoryEngine, complaints: list[str], name: str, fault: str
) -> None:
    asked = REQUESTS[name]
    if asked.where == "/":
        for number, ship in enumerate(("Harbour pilot", "Night watch")):
            deploy_named(User.objects.get(), ship, number)
        home.goto("/")
    else:
        fill_in(home)
        home.clock.run_for(1000)
        expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    home.evaluate(QUICKLY)
    home.route(asked.path, FAULTS[fault])
    asked.ask(home)
    if (fault, asked.where) == ("200", "/"):
        expect(home.get_by_text("Back soon")).to_be_visible()
        complaints.clear()
        return
    expect(home.get_by_role("alert").filter(has_text=NOT_ANSWERED)).to_be_visible()
    if asked.where != "/":
        expect(home.get_by_label("Bot token")).to_have_value(CANARY_TELEGRAM_TOKEN)
    home.unroute(asked.path)
    (submit if asked.where == "/" and name != "narrow" else asked.ask)(home)
    expect(home.locator("body")).to_contain_text(asked.done)
    expect(home.get_by_role("alert").filter(has_text=NOT_ANSWERED)).to_be_hidden()
    complaints.clear()
