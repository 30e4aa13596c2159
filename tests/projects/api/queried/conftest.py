"""Projects of many statuses, names and times."""

import pytest
from django.utils import timezone

from projects.models import Project, Watch
from projects.rules.status.lifecycle import LEASE
from tests.projects.api.queried.rows import KINDS, twin


@pytest.fixture
def rows(project: Project, monkeypatch: pytest.MonkeyPatch) -> list[Project]:
    """Projects with many statuses, names and times, and their usual list. The clock stands still."""
    now = timezone.now()
    monkeypatch.setattr("accounts.clock.now", lambda: now)
    Watch.objects.update_or_create(instance="berth", defaults={"heartbeat_at": now, "lease_until": now + LEASE})
    twins = [twin(project, now, number, kind) for number, kind in enumerate([*KINDS, *KINDS])]
    Project.objects.bulk_create(twins)
    Project.objects.filter(pk=project.pk).update(observed_at=now)
    return twins
