"""Each alert is silent while all is well, and fires during its fault, according to what /metrics reports then."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from accounts import clock
from tests.config.metrics.alerting import WELL, WRONG, alerts, expect, expect_silence, run_promtool, series_of, tell
from tests.config.metrics.faults import DURING, FAULTS, Scene, during
from tests.config.metrics.reading import scrape
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine
from tests.paths import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

OF_PROMETHEUS = {"BerthDown": [{"series": 'up{job="berth"}', "values": f"1+0x{WELL} 0+0x{WRONG}"}]}
"""Metrics that Prometheus provides itself."""

UP = {"series": 'up{job="berth"}', "values": f"1+0x{WELL + WRONG + 1}"}


@pytest.fixture
def scene(api: APIClient, engine: MemoryEngine, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Nothing becomes too old by itself, no matter how slow the machine is."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    settings.BERTH_GATEWAY, settings.BERTH_BACKUP_DAYS = True, 0
    scene = Scene(api, deploy_project(api), engine)
    scene.look()
    return scene


def story_of(alert: str, scene: Scene) -> list[dict[str, str]]:
    """Everything is undone at the end."""
    before = series_of(scrape())
    with transaction.atomic():
        if alert in FAULTS:
            FAULTS[alert](scene)
        with during(alert, scene):
            after = series_of(scrape())
        transaction.set_rollback(rollback=True)
    scene.engine.unavailable = False
    named = set(re.findall(r"\bberth_\w+", alerts()[alert]))
    return [UP, *(each for each in tell(before, after) if each["series"].partition("{")[0] in named)]


@pytest.mark.rare(3)
def test_each_alert_fires_only_in_its_fault(scene: Scene, tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not here: `make test` gets it from Debian's package prometheus.")
    well = series_of(scrape())
    tests = [expect_silence([UP, *tell(well, well)])]
    tests += [expect(alert, OF_PROMETHEUS.get(alert) or story_of(alert, scene)) for alert in alerts()]
    assert run_promtool(promtool, tmp_path, tests) == ""


def test_each_alert_has_a_fault_and_advice() -> None:
    assert alerts().keys() == {*FAULTS, *DURING, *OF_PROMETHEUS}
    told = re.findall(r"^\| `(Berth\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
    assert told == list(alerts())


def names_in(text: str) -> set[str]:
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bberth_[a-z_]+", text)}


def test_exported_documented_and_used_metrics_are_the_same(scene: Scene) -> None:
    scrape()  # which is the first request that it reports
    told = {re.sub(r"_(bucket|count|sum|created)$", "", each.name) for each in scrape().samples}
    told |= {"berth_engine_requests_total", "berth_process_starts_total"}  # the engine in memory makes none
    document = (ROOT / "docs/metrics.md").read_text()
    assert set(re.findall(r"^\| `(berth_[a-z_]+)", document, re.MULTILINE)) == told
    board = (ROOT / "docs/monitoring/grafana.json").read_text()
    assert names_in(board) <= told
    assert len(names_in(board)) >= 10
    assert json.loads(board)["title"] == "Berth"
    assert names_in(" ".join(alerts().values())) <= told
