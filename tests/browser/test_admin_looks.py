"""What the admin's pages of our own look like: no side-scrolling on a telephone, and pictures for people. Lists and
forms at 1280 px are in test_admin_forms.py.

The pictures go to BERTH_TEST_PICTURES.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import User
from projects.models import Project, Quarantined
from projects.services.staff.batches import begin_batch
from tests.browser.conftest import PICTURES
from tests.browser.following import follow
from tests.browser.project_pages import deploy_named

LISTS = (
    "accounts/user",
    "projects/project",
    "projects/quarantined",
    "projects/plan",
    "projects/agenttype",
    "projects/provider",
)


OURS = ("accounts/user/invite", "projects/agenttype/assistant/settings", "projects/agenttype/assistant/settings/edit")


@pytest.mark.rare(1)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_of_the_admin_fits_its_screen(
    page: Page, alice: User, ada: User, sign_in: Callable[[User], None], width: int, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})
    project = deploy_named(alice, "Harbour pilot", 1)
    Project.objects.update(reconcile_failures=3, reconcile_failed_at=timezone.now(), reconcile_error="KeyError")
    long_ago = timezone.now() - timedelta(days=40)
    Quarantined.objects.create(
        key=str(uuid4()), instance="berth", container_name="berth-1234567890abcdef", since=long_ago, log="It ended.\n"
    )

    def look(name: str, *, may_scroll: bool = False) -> None:
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"admin-{name}-{width}-{scheme}.png", full_page=True)
        assert may_scroll or page.evaluate("document.documentElement.scrollWidth") <= width, name

    sign_in(ada)
    page.goto("/admin/")
    look("index")
    for path in LISTS if PICTURES and width < 1280 else ():
        page.goto(f"/admin/{path}/")
        look(path.partition("/")[2], may_scroll=True)
    page.goto("/admin/projects/project/growth/")
    look("growth")
    page.goto(f"/admin/projects/project/{project.pk}/change/")
    look("project-change", may_scroll=True)
    page.get_by_role("link", name="Log", exact=True).click()
    page.get_by_role("button", name="Follow").wait_for()
    look("project-log")
    for path in OURS:
        page.goto(f"/admin/{path}/")
        look(path.rpartition("/")[2])
    batch = begin_batch(by=ada, action="stop", chosen=[(project.pk, "x" * 64), (uuid4(), "Gone")])
    page.goto(f"/admin/projects/project/batch/{batch.pk}/")
    page.get_by_text("2 of 2 finished.").wait_for()
    look("batch")
    page.goto("/admin/projects/agenttype/assistant/change/")
    look("type-change", may_scroll=True)
    follow(page.get_by_role("button", name="Test the image"))
    look("type-trial")
    page.goto(f"/admin/accounts/user/{alice.pk}/change/")
    look("user-change", may_scroll=True)
    page.goto("/admin/projects/project/")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option(label="Delete, with container and state")
    follow(page.get_by_role("button", name="Go"))
    look("confirm", may_scroll=True)
