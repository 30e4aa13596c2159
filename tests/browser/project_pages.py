"""Deploying by the form, and letting a page refresh itself."""

from playwright.sync_api import Page, expect

from projects.models import Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN

MOMENT = 5000
"""More milliseconds than lie between two refreshes."""


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
