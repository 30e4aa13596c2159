"""The mail to an owner whose agent needs them."""

from datetime import timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from containers.errors import EngineRefusedError
from projects.models import Project
from projects.watcher import crash_mail
from projects.watcher.reconcile import reconcile
from tests.canaries import CANARY_API_KEY, find_canary
from tests.fakes.engine import MemoryEngine


@pytest.fixture(autouse=True)
def _mail_is_configured(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.BERTH_PUBLIC_URL = "https://berth.example"


def test_a_crash_for_good_is_told_with_reason_log_and_link(project: Project, engine: MemoryEngine) -> None:
    engine.log(project.container_name, f"token refused {CANARY_API_KEY}")
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    (message,) = mail.outbox
    assert message.to == ["alice@example.com"]
    assert message.subject == "Harbour pilot needs you"
    assert "Telegram refused the bot token. Paste a new one from @BotFather, then start." in message.body
    assert "token refused [redacted]" in message.body
    assert f"https://berth.example/projects/{project.pk}" in message.body
    assert find_canary(str(message.body)) is None


def test_a_crash_that_the_engine_mends_is_not_told(project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=1, restarting=True)
    reconcile()
    assert mail.outbox == []


def test_at_most_one_an_hour(project: Project, engine: MemoryEngine) -> None:
    for _ in range(2):
        Project.objects.update(gave_up_at=None)
        engine.crash(project.container_name, exit_code=20, restarting=True)
        reconcile()
    assert len(mail.outbox) == 1
    Project.objects.update(gave_up_at=None, noticed_at=timezone.now() - timedelta(minutes=61))
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    assert len(mail.outbox) == 2


def test_what_could_not_be_made_again_is_told(project: Project, engine: MemoryEngine) -> None:
    engine.vanish(project.container_name)
    engine.fail("deploy.create", EngineRefusedError("The disk is full."))
    reconcile()
    assert len(mail.outbox) == 1


def test_without_a_mail_server_nothing_is_sent(project: Project, engine: MemoryEngine, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    assert mail.outbox == []


def test_a_mail_server_that_is_down_keeps_nothing_from_being_mended(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*args: Any) -> None:
        raise SMTPServerDisconnected("gone")

    monkeypatch.setattr(crash_mail, "send_mail", refuse)
    engine.crash(project.container_name, exit_code=20, restarting=True)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    assert "could not be sent" in caplog.text


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), UnicodeEncodeError("idna", "x", 0, 1, "label too long"), ValueError("a header")]
)
def test_a_mail_that_breaks_is_passed_over_and_keeps_no_other_from_its_owner(
    deploy: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first, second = deploy(name="First"), deploy(name="Second", telegramToken="7:another")

    def break_for_the_first(subject: str, *args: Any) -> int:
        if subject.startswith(first.name):
            raise error
        return mail.send_mail(subject, *args)

    monkeypatch.setattr(crash_mail, "send_mail", break_for_the_first)
    for project in (first, second):
        engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    reconcile()
    assert [message.subject for message in mail.outbox] == [f"{second.name} needs you"]
