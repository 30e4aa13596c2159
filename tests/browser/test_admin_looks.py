"""What the admin's pages of our own look like: no side-scrolling on a telephone, and pictures for people.

The pictures go to BERTH_TEST_PICTURES, or to pytest's temporary directory.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import User
from projects.models import Project, Quarantined
from tests.browser.project_pages import deploy_named

LISTS = (
    "accounts/user",
    "projects/project",
    "projects/quarantined",
    "projects/plan",
    "projects/agenttype",
    "projects/provider",
)


CUT_OFF = """() => [...document.querySelectorAll('body *')]
  .filter(node => node.checkVisibility() && !node.closest('.visually-hidden, select'))
  .filter(node => node.getBoundingClientRect().right > innerWidth + 1 || node.matches('.results')
    && node.scrollWidth > node.clientWidth)
  .map(node => node.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_of_the_admin_fits_its_screen(
    page: Page, alice: User, ada: User, sign_in: Callable[[User], None], tmp_path: Path, width: int, scheme: str
) -> None:
    pictures = Path(os.environ.get("BERTH_TEST_PICTURES") or tmp_path)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})
    project = deploy_named(alice, "Harbour pilot", 1)
    Project.objects.update(reconcile_failures=3, reconcile_failed_at=timezone.now(), reconcile_error="KeyError")
    long_ago = timezone.now() - timedelta(days=40)
    Quarantined.objects.create(
        key=str(uuid4()), instance="berth", container_name="berth-1234567890abcdef", since=long_ago, log="It ended.\n"
    )

    def look(name: str) -> None:
        page.screenshot(path=pictures / f"admin-{name}-{width}-{scheme}.png", full_page=True)

    sign_in(ada)
    page.goto("/admin/")
    look("index")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for path in LISTS:
        page.goto(f"/admin/{path}/")
        assert page.locator("#content").is_visible()
        look(path.partition("/")[2])
        assert width < 1280 or page.evaluate(CUT_OFF) == []
    page.goto("/admin/projects/project/growth/")
    look("growth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"/admin/projects/project/{project.pk}/change/")
    look("project-change")
    page.get_by_role("link", name="Log", exact=True).click()
    page.get_by_role("button", name="Follow").wait_for()
    look("project-log")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/admin/projects/agenttype/assistant/change/")
    look("type-change")
    page.get_by_role("button", name="Test the image").click()
    look("type-trial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"/admin/accounts/user/{alice.pk}/change/")
    look("user-change")
    page.goto("/admin/projects/project/")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option(label="Delete, with container and state")
    page.get_by_role("button", name="Go").click()
    look("confirm")
