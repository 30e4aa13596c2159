"""The projects' pages in states that no address leads to; all others are in `test_every_page.py`.

The pictures go to BERTH_TEST_PICTURES, where that is set.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from projects.models import Project
from tests.browser.following import follow
from tests.browser.worlds import deploy_fleet, stir
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine


@pytest.fixture
def fleet(alice: User) -> dict[str, Project]:
    return deploy_fleet(alice)


@pytest.mark.rare(2)
def test_what_comes_and_goes_fits_its_screen(
    page: Page,
    alice: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    fleet: dict[str, Project],
    look: Callable[[str], None],
) -> None:
    sign_in(alice)
    page.goto("/projects/new")
    page.get_by_label("Name").fill("x" * 65)
    page.get_by_label("Bot token").fill(CANARY_TELEGRAM_TOKEN)
    page.get_by_label("API key").fill(CANARY_API_KEY)
    page.get_by_label("Allowed users").fill("@alice_a\nno good!")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#check-result")).to_contain_text("no more than 64 characters")
    look("new-checked")
    crashed = stir(fleet, engine)
    page.goto(f"/projects/{crashed.pk}")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("is started.")).to_be_visible()
    follow(page.get_by_role("link", name="Earlier run"))
    look("earlier-run")
    engine.unavailable = True
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=2))
    page.goto(f"/projects/{fleet['Tide tables'].pk}")
    look("unknown")


@pytest.mark.rare(2)
def test_commands_to_many_look_right_everywhere(
    page: Page,
    alice: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    fleet: dict[str, Project],
    look: Callable[[str], None],
) -> None:
    stir(fleet, engine)
    sign_in(alice)
    page.goto("/?q=nowhere")
    look("list-nothing")
    page.goto("/?sort=name")
    page.get_by_label("All on this page").check()
    look("list-chosen")
    follow(page.get_by_role("button", name="Delete"))
    look("bulk-delete")
    follow(page.get_by_role("link", name="Keep them"))
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible()
    look("bulk")
