"""Takes the README's pictures anew, into a folder.

.venv/bin/python -m pytest tests/browser/readme_pictures.py --pictures=docs
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize

from accounts.models import User
from containers.vocabulary import Health
from projects.models import Event, Plan, Project
from projects.watcher.reconcile.full import reconcile
from tests.browser.project_pages import deploy_named
from tests.browser.worlds import measure
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.many import watch_well

SIZE: ViewportSize = {"width": 1180, "height": 830}


def test_take_them(
    page: Page,
    alice: User,
    ada: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    pytestconfig: pytest.Config,
) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=9)
    names = ["Harbour pilot", "Tide tables", "Night watch", "Chart room"]
    pilot, tide, watch, charts = (deploy_named(alice, name, number) for number, name in enumerate(names))
    for project in (pilot, tide):
        measure(project)
    for words in ('AGENT-STATUS {"v":1,"state":"running","code":null,"detail":null}', "Paired with 1 person"):
        engine.log(pilot.container_name, words)
    engine.crash(watch.container_name, exit_code=20)
    engine.report(charts.container_name, "degraded", "provider_busy")
    engine.set_health(charts.container_name, Health.UNHEALTHY)
    reconcile()
    ago = timezone.now() - timedelta(hours=5)
    Project.objects.update(observed_at=None, agent_paired=1, created_at=ago)
    Event.objects.update(at=ago)
    page.set_viewport_size(SIZE)
    for name, person, path in (
        ("dashboard", alice, "/"), ("project", alice, f"/projects/{pilot.pk}"), ("admin", ada, "/admin/"),
    ):  # fmt: skip
        sign_in(person)
        if person is ada:
            watch_well()
        page.goto(path)
        page.screenshot(path=Path(pytestconfig.getoption("--pictures")) / f"{name}.png")
