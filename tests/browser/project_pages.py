"""Deploying by the form, and letting a page refresh itself."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from projects.models import Actor, AgentType, Plan, Project
from projects.services import NewProject, create_project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.deploying import token_of_bot

BOT = 4_000_000_000

MOMENT = 5000
"""Milliseconds, longer than the time between two refreshes."""


MOST_STOPS = 30
"""Of the tab key on a page."""


def tab_to(wanted: Locator) -> None:
    """Press the tab key until this has the focus."""
    for _ in range(MOST_STOPS):
        if wanted.evaluate("node => node === document.activeElement"):
            return
        wanted.page.keyboard.press("Tab")
    expect(wanted).to_be_focused()


def fill_in(page: Page, name: str = "Harbour pilot") -> None:
    page.goto("/projects/new")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Bot token").fill(CANARY_TELEGRAM_TOKEN)
    page.get_by_label("API key").fill(CANARY_API_KEY)


def deploy_by_form(page: Page) -> Project:
    fill_in(page)
    page.get_by_role("button", name="Deploy").click()
    expect(page.get_by_role("heading", name="Harbour pilot")).to_be_visible()
    return Project.objects.get()


def let_pass(page: Page) -> None:
    """Let the page refresh itself, with reads that ask the engine."""
    Project.objects.update(observed_at=None)
    page.clock.run_for(MOMENT)


def deploy_named(owner: User, name: str, number: int, **settings: Any) -> Project:
    wanted = NewProject(
        name=name,
        agent_type=AgentType.objects.get(slug="assistant"),
        plan=Plan.objects.get(slug="pro"),
        settings=settings,
        telegram_token=token_of_bot(BOT + number),
        api_key=CANARY_API_KEY,
    )
    project = create_project(
        owner=owner,
        wanted=wanted,
        actor=Actor(label=owner.email, source="key deploy script", address="2001:db8:85a3::8a2e:370:7334"),
    )
    project.bot_username = f"{name[:8].strip().replace(' ', '_')}_bot"
    project.save(update_fields=["bot_username"])
    return project
