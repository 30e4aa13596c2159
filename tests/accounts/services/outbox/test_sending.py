"""No request waits for the mail server: who sends, when, and what a killed sender leaves."""

import smtplib
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from accounts.models import MailState, OutgoingMail, User
from accounts.models.outgoing_mail import LONGEST_PAUSE, TRIED_FOR, pause_after
from accounts.services import code_alarm, outbox
from accounts.services.outbox import find_due, queue_mail, send_due
from projects.watcher.notifications import outbox as thread_of_its_own
from projects.watcher.notifications.outbox import RENDERERS
from tests.mailing import deliver


def make_due() -> None:
    OutgoingMail.objects.filter(state=MailState.WAITING).update(next_try_at=timezone.now())


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_one_of_many_senders_sends(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them have read the row before one claims it."""
    queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "203.0.113.9"})
    claim, depth = outbox._claim, [0]

    def claim_after_the_others(row: OutgoingMail) -> bool:
        if depth[0] < 4:
            depth[0] += 1
            deliver()
        return claim(row)

    monkeypatch.setattr(outbox, "_claim", claim_after_the_others)
    deliver()
    assert depth == [4]
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_a_sender_that_dies_before_the_server_has_the_mail_loses_none(
    alarm: OutgoingMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_args: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(mail.EmailMessage, "send", die)
        with pytest.raises(KilledError):
            deliver()
    assert not find_due(timezone.now()).exists()
    OutgoingMail.objects.update(next_try_at=timezone.now())
    deliver()
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_a_mail_repeated_after_a_kill_has_the_same_message_id(
    alarm: OutgoingMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_args: Any, **_values: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "_end", die)
        with pytest.raises(KilledError):
            deliver()
    make_due()
    deliver()
    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert not find_due(timezone.now()).exists()


@pytest.mark.django_db
def test_the_pauses_grow_and_end_after_three_days(alarm: OutgoingMail, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any) -> None:
        raise smtplib.SMTPServerDisconnected("gone")

    monkeypatch.setattr(mail.EmailMessage, "send", refuse)
    now, pauses = alarm.created_at, []
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    while OutgoingMail.objects.filter(state=MailState.WAITING).exists():
        assert not deliver()
        alarm.refresh_from_db()
        pauses.append(alarm.next_try_at - now)
        assert pauses[-1] == pause_after(len(pauses))
        now = alarm.next_try_at
    assert alarm.state == MailState.GIVEN_UP
    assert pauses[:4] == [timedelta(minutes=minutes) for minutes in (1, 2, 4, 8)]
    assert max(pauses) == LONGEST_PAUSE
    assert TRIED_FOR <= now - alarm.created_at < TRIED_FOR + 2 * LONGEST_PAUSE


@pytest.mark.django_db
@pytest.mark.parametrize("ahead", [timedelta(minutes=70), timedelta(days=1), timedelta(days=1000)])
def test_a_clock_that_was_set_back_holds_up_no_mail(alarm: OutgoingMail, ahead: timedelta) -> None:
    OutgoingMail.objects.update(next_try_at=timezone.now() + ahead)
    deliver()
    assert len(mail.outbox) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("ahead", [timedelta(seconds=30), timedelta(minutes=59)])
def test_a_mail_that_is_not_due_waits(alarm: OutgoingMail, ahead: timedelta) -> None:
    OutgoingMail.objects.update(next_try_at=timezone.now() + ahead)
    deliver()
    assert mail.outbox == []


@pytest.mark.django_db
def test_nothing_is_begun_once_the_watcher_ends(alarm: OutgoingMail) -> None:
    send_due(renderers=RENDERERS, is_stopped=lambda: True)
    assert mail.outbox == []
    assert OutgoingMail.objects.get().attempts == 0


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_a_separate_thread_sends_while_the_engine_is_silent(
    alarm: OutgoingMail, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_SENDS_MAIL = True
    monkeypatch.setattr(thread_of_its_own, "EVERY", 0.01)
    sent = threading.Event()
    send: Callable[..., Any] = mail.EmailMessage.send

    def note(self: Any, *args: Any) -> Any:
        try:
            return send(self, *args)
        finally:
            sent.set()

    monkeypatch.setattr(mail.EmailMessage, "send", note)
    running = thread_of_its_own.Outbox()
    running.start()
    try:
        assert sent.wait(60)
    finally:
        running.stop()
    running._thread.join(60)
    assert not running._thread.is_alive()
    assert OutgoingMail.objects.get().state == MailState.SENT
