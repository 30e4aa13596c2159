"""The mail to an owner whose agent needs attention."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from accounts.models import MailState, OutgoingMail
from accounts.services import outbox
from containers.errors import EngineRefusedError
from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.services import delete_project
from projects.watcher.notifications import crash_mail
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, find_canary
from tests.fakes.engine import MemoryEngine
from tests.mailing import deliver


@pytest.fixture(autouse=True)
def _mail_is_configured(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.BERTH_PUBLIC_URL = "https://berth.example"


def test_a_final_crash_is_mailed_with_reason_log_and_link(project: Project, engine: MemoryEngine) -> None:
    engine.log(project.container_name, f"token refused {CANARY_API_KEY}")
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    deliver()
    (message,) = mail.outbox
    assert message.to == ["alice@example.com"]
    assert message.subject == "Harbour pilot needs you"
    assert "Telegram refused the bot token. Paste a new one from @BotFather, then start." in message.body
    assert "token refused [redacted]" in message.body
    assert f"https://berth.example/projects/{project.pk}" in message.body
    assert find_canary(str(message.body)) is None


def test_a_crash_that_the_engine_restarts_is_not_mailed(project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=1, restarting=True)
    reconcile()
    deliver()
    assert mail.outbox == []


def test_at_most_one_crash_mail_is_sent_per_hour(project: Project, engine: MemoryEngine) -> None:
    for _ in range(2):
        Project.objects.update(gave_up_at=None)
        engine.crash(project.container_name, exit_code=20, restarting=True)
        reconcile()
    deliver()
    assert len(mail.outbox) == 1
    Project.objects.update(gave_up_at=None, noticed_at=timezone.now() - timedelta(minutes=61))
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    deliver()
    assert len(mail.outbox) == 2


def test_a_failed_recreation_is_mailed(project: Project, engine: MemoryEngine) -> None:
    engine.vanish(project.container_name)
    engine.fail("deploy.create", EngineRefusedError("The disk is full."))
    reconcile()
    deliver()
    assert len(mail.outbox) == 1


def test_without_a_mail_server_nothing_is_sent(project: Project, engine: MemoryEngine, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    deliver()
    assert mail.outbox == []


def test_a_round_never_contacts_the_mail_server(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("A round waits for nobody.")

    monkeypatch.setattr(mail.EmailMessage, "send", refuse)
    engine.crash(project.container_name, exit_code=20, restarting=True)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    assert OutgoingMail.objects.get().state == MailState.WAITING


def test_a_project_deleted_meanwhile_causes_no_mail(project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    delete_project(project=project, actor=SYSTEM)
    deliver()
    assert mail.outbox == []
    assert OutgoingMail.objects.get().state == MailState.NOT_NEEDED
    assert project.name not in str(OutgoingMail.objects.values().get())


def test_no_queued_mail_contains_the_agent_s_output(project: Project, engine: MemoryEngine) -> None:
    engine.log(project.container_name, "a line of the log")
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    assert "a line of the log" in Project.objects.get().log_tail
    assert "a line of the log" not in str(OutgoingMail.objects.values().get())


def test_a_full_outbox_loses_no_notice(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(outbox, "MOST_WAITING", 0)
        engine.crash(project.container_name, exit_code=20, restarting=True)
        reconcile()
        assert "waits" in caplog.text
        assert Project.objects.get().noticed_at is None
    reconcile()
    deliver()
    assert len(mail.outbox) == 1


def test_a_watcher_that_dies_between_mail_and_cursor_sends_one_mail(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_args: Any) -> None:
        raise KilledError

    engine.crash(project.container_name, exit_code=20, restarting=True)
    with monkeypatch.context() as patched:
        patched.setattr(EventCursor, "advance", die)
        with pytest.raises(KilledError):
            reconcile()
    assert not OutgoingMail.objects.exists()
    reconcile()
    deliver()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), UnicodeEncodeError("idna", "x", 0, 1, "label too long"), ValueError("a header")]
)
def test_a_failing_mail_blocks_no_other(
    deploy: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first, second = deploy(name="First"), deploy(name="Second", telegramToken="7:another")
    send = mail.EmailMessage.send

    def break_for_the_first(message: mail.EmailMessage) -> int:
        if message.subject.startswith(first.name):
            raise error
        return send(message)

    monkeypatch.setattr(mail.EmailMessage, "send", break_for_the_first)
    for project in (first, second):
        engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    deliver()
    assert [message.subject for message in mail.outbox] == [f"{second.name} needs you"]


def test_a_failing_notice_is_skipped_and_blocks_no_other(
    deploy: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = deploy(name="First"), deploy(name="Second", telegramToken="7:another")
    find = crash_mail._find_notice

    def break_for_the_first(event: Event) -> Any:
        if event.project_id == first.pk:
            raise RuntimeError("a bug")
        return find(event)

    monkeypatch.setattr(crash_mail, "_find_notice", break_for_the_first)
    for project in (first, second):
        engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    deliver()
    assert [message.subject for message in mail.outbox] == [f"{second.name} needs you"]
