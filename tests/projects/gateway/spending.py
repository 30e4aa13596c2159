"""Notifications about budgets, with a clock that the test moves."""

from datetime import UTC, datetime
from typing import Any

from django.core import mail

from projects.models import Project
from projects.rules.periods import EPOCH, HOUR
from tests.mailing import deliver

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Clock:
    """The present, for the service and its tests."""

    def __init__(self) -> None:
        self.now = NOON

    @property
    def hour(self) -> int:
        return int((self.now - EPOCH) / HOUR)


def shown(api: Any, project: Project, time: Clock) -> tuple[str, str]:
    """Returns its status and the reason. The rows are up to date."""
    Project.objects.filter(pk=project.pk).update(observed_at=time.now, updated_at=time.now)
    answer = api.get(f"/api/projects/{project.pk}").json()
    return answer["status"], (answer["status_reason"] or {"message": ""})["message"]


def subjects() -> list[str]:
    deliver()
    return [str(each.subject) for each in mail.outbox]
