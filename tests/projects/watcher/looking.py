"""A later round, and what the owner sees after it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Project, Watch
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import inspection_choice
from projects.watcher.reconcile.full import reconcile


def grow_old() -> None:
    """What was seen before is too old; the watcher's heartbeat is not."""
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.update(observed_at=long_ago, updated_at=long_ago)
    Watch.objects.all().delete()


def look(**options: Any) -> list[str]:
    """Makes a round with its heartbeat. Returns the failures."""
    grow_old()
    result = reconcile(**options)
    Watch.objects.create(instance="berth", heartbeat_at=result.at, lease_until=result.at + timedelta(minutes=1))
    return result.failed


def look_at_ended(ends: RunEnds, **options: object) -> list[str]:
    """Makes a round as the watcher begins it, and its heartbeat."""
    return look(changed_keys=ends.keys_of_ended(), find_end=ends.find, **options)


def statuses(api: APIClient) -> dict[str, str]:
    return {each["id"]: each["status"] for each in api.get("/api/projects").json()}


def be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning of a round on, no answer is worth waiting for."""
    monkeypatch.setattr(inspection_choice, "CRASHES_WITHIN", -1.0)
    monkeypatch.setattr(inspection_choice, "DESCRIBED_AT_LEAST", 0)
