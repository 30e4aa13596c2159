"""The API of an installation on a real engine, whose database the tests change."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from projects.watcher.reconcile import orphans


@pytest.fixture
def api(
    real_engine: Callable[[str], None], api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> APIClient:
    real_engine("")
    monkeypatch.setattr(orphans, "ORPHAN_AGE", timedelta(0))
    monkeypatch.setattr("projects.watcher.watcher.LOOK_EVERY", 0.2)
    monkeypatch.setattr("projects.watcher.watcher.VOLUMES_EVERY", 0.2)
    return api
