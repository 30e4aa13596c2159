"""Takes the README's pictures anew, into a folder.

.venv/bin/python -m pytest tests/browser/readme_pictures.py --pictures=docs
"""

from collections.abc import Callable
from datetime import timedelta
from math import sin
from pathlib import Path
from random import Random

import pytest
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize

from accounts.models import User
from containers.vocabulary import Health
from projects.models import Event, Plan, Project, Sample
from projects.watcher.reconcile.full import reconcile
from tests.browser.project_pages import deploy_named
from tests.fakes.engine import MemoryEngine

SIZE: ViewportSize = {"width": 1180, "height": 830}


def test_take_the_pictures_of_the_readme(
    page: Page,
    alice: User,
    sign_in: Callable[[User], None],
    engine: MemoryEngine,
    pytestconfig: pytest.Config,
) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=9)
    names = ["Harbour pilot", "Tide tables", "Night watch", "Chart room"]
    pilot, tide, watch, charts = (deploy_named(alice, name, number) for number, name in enumerate(names))
    for project in (pilot, tide):
        measure_a_quiet_day(project)
    for words in ('AGENT-STATUS {"v":1,"state":"running","code":null,"detail":null}', "Paired with 1 person"):
        engine.log(pilot.container_name, words)
    engine.crash(watch.container_name, exit_code=20)
    engine.report(charts.container_name, "degraded", "provider_busy")
    engine.set_health(charts.container_name, Health.UNHEALTHY)
    reconcile()
    ago = timezone.now() - timedelta(hours=5)
    Project.objects.update(observed_at=None, agent_paired=1, created_at=ago)
    Project.objects.exclude(pk=watch.pk).update(started_at=ago)
    Event.objects.update(at=ago)
    page.set_viewport_size(SIZE)
    sign_in(alice)
    for name, path in (("dashboard", "/"), ("project", f"/projects/{pilot.pk}")):
        page.goto(path)
        page.screenshot(path=Path(pytestconfig.getoption("--pictures")) / f"{name}.png")


def measure_a_quiet_day(project: Project) -> None:
    """Five hours of an agent that is asked something every few minutes."""
    now, drawn = timezone.now().replace(second=0, microsecond=0), Random(project.name)
    Sample.objects.bulk_create(
        Sample(
            project_id=project.pk,
            at=now - timedelta(minutes=minute),
            minutes=1,
            cpu=60 + drawn.randrange(40) + drawn.choice((0, 0, 0, 0, 350, 620)),
            memory=int((58 + 6 * sin(minute / 40)) * 2**20) + drawn.randrange(2**19),
            received=drawn.choice((4_000, 4_500, 5_000, 70_000)),
            sent=drawn.choice((2_000, 2_500, 30_000)),
        )
        for minute in range(1, 300)
    )
