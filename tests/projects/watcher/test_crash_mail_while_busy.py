"""The mail after an agent was given up on a busy engine: it arrives and says why."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import OutgoingMail
from containers.errors import EngineUnavailableError
from projects.models import Event, Project
from projects.watcher.notifications.crash_mail import open_cursor, queue_crash_mails
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture(autouse=True)
def _mail_is_configured(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True


class KilledError(BaseException):
    pass


def test_a_busy_engine_causes_no_crash_mail(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row says why the agent crashed, no matter how long ago the engine last answered."""
    cursor = open_cursor()
    with monkeypatch.context() as patched:
        patched.setattr("projects.watcher.reconcile.full.queue_crash_mails", lambda _: None)
        engine.crash(project.container_name, exit_code=20, restarting=True)
        reconcile()
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.silence_container(project.container_name)
    queue_crash_mails(cursor)
    assert "Telegram refused the bot token." in OutgoingMail.objects.get().facts["reason"]


@pytest.mark.parametrize("while_stopping", ["it is told", "the engine falls silent", "the watcher is killed"])
def test_an_agent_that_is_given_up_is_mailed_even_if_its_stop_fails(
    while_stopping: str, project: Project, engine: MemoryEngine
) -> None:
    cursor = open_cursor()

    def go_wrong() -> None:
        match while_stopping:
            case "it is told":
                queue_crash_mails(cursor)
                assert OutgoingMail.objects.exists()
            case "the engine falls silent":
                raise EngineUnavailableError
            case _:
                raise KilledError

    engine.crash(project.container_name, exit_code=20, restarting=True)
    engine.slow("stop", go_wrong)
    with suppress(KilledError, EngineUnavailableError):
        reconcile()
    queue_crash_mails(cursor)
    assert "Telegram refused the bot token." in OutgoingMail.objects.get().facts["reason"]
    assert Event.objects.filter(action="give up").count() == 1
