"""The outbox: nobody waits for the mail server, no mail is lost, and none is sent twice where that can be helped."""

import smtplib
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.errors import OutboxFullError
from accounts.models import MailState, OutgoingMail, User
from accounts.models.outgoing_mail import LONGEST_PAUSE, TRIED_FOR, pause_after
from accounts.services import code_alarm, outbox
from accounts.services.outbox import describe_trouble, find_due, queue_mail, send_due, try_again
from projects.watcher import outbox as thread_of_its_own
from projects.watcher.outbox import RENDERERS
from projects.watcher.retention import prune
from tests.certificates import make_authority
from tests.fakes.smtp import STEPS, SmtpServer, babble, drip, hang, hang_up, smtp_server
from tests.mailing import deliver
from tests.people import email_of

REFUSALS = {"4xx": "451 4.7.1 not now", "5xx": "554 5.7.1 go away, you wrote {mail}"}
SILENCES: dict[str, Any] = {"hang": hang, "hang_up": hang_up, "drip": drip, "babble": babble, "nonsense": "what?"}
BEFORE_TAKING = ("connect", "EHLO", "MAIL", "RCPT", "DATA", "text")


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with smtp_server() as found:
        yield found


@pytest.fixture
def _mail_goes_there(settings: Any, server: SmtpServer) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.EMAIL_BACKEND = "config.mail_backend.DeadlineBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""


@pytest.fixture
def alarm(alice: User) -> OutgoingMail:
    queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "203.0.113.9"})
    return OutgoingMail.objects.get()


def make_due() -> None:
    OutgoingMail.objects.filter(state=MailState.WAITING).update(next_try_at=timezone.now())


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
def test_a_mail_reaches_the_server_once(alarm: OutgoingMail, server: SmtpServer) -> None:
    assert deliver()
    assert deliver()
    [message] = server.taken
    assert (message["To"], message["Message-ID"]) == (email_of("alice"), f"<{alarm.pk}@127.0.0.1>")
    alarm.refresh_from_db()
    assert (alarm.state, alarm.attempts, alarm.last_error) == (MailState.SENT, 1, "")


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
@pytest.mark.parametrize("step", BEFORE_TAKING)
@pytest.mark.parametrize("kind", [*REFUSALS, *SILENCES])
def test_no_fault_of_the_server_loses_a_mail(
    step: str, kind: str, alarm: OutgoingMail, server: SmtpServer, settings: Any
) -> None:
    """It waits, or is kept as refused, whatever the server does at whatever step. Later it goes out."""
    settings.EMAIL_TIMEOUT = 0.3 if kind in SILENCES else 30
    server.misbehave[step] = SILENCES.get(kind) or REFUSALS[kind]
    deliver()
    alarm.refresh_from_db()
    is_refused = kind == "5xx" and step in {"RCPT", "DATA", "text"}
    assert alarm.state == (MailState.REFUSED if is_refused else MailState.WAITING)
    assert alarm.last_error
    assert "you wrote" not in alarm.last_error
    settings.EMAIL_TIMEOUT = 30
    server.misbehave.clear()
    server.taken.clear()
    assert try_again(OutgoingMail.objects.all()) == 1
    assert deliver()
    assert server.ids == [f"<{alarm.pk}@127.0.0.1>"]


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
@pytest.mark.parametrize("kind", [*REFUSALS, *SILENCES])
def test_what_the_server_does_once_it_has_the_mail_makes_no_second_one(
    kind: str, alarm: OutgoingMail, server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.mail_backend.QUIT_WITHIN", 0.1)
    server.misbehave["QUIT"] = SILENCES.get(kind) or REFUSALS[kind]
    assert deliver()
    alarm.refresh_from_db()
    assert alarm.state == MailState.SENT
    assert len(server.taken) == 1


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
@pytest.mark.parametrize("when", ["EMAIL_USE_SSL", "EMAIL_USE_TLS"])
@pytest.mark.parametrize("kind", [kind for kind in SILENCES if kind != "nonsense"])
def test_a_handshake_that_does_not_end_ends_with_the_deadline(
    when: str, kind: str, alarm: OutgoingMail, server: SmtpServer, settings: Any
) -> None:
    setattr(settings, when, True)
    settings.EMAIL_TIMEOUT = 0.3
    server.misbehave |= {"connect": SILENCES[kind]} if when == "EMAIL_USE_SSL" else {"STARTTLS": SILENCES[kind]}
    assert not deliver()
    alarm.refresh_from_db()
    assert alarm.state == MailState.WAITING


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
def test_a_server_whose_certificate_nobody_knows_gets_no_mail(
    alarm: OutgoingMail, settings: Any, tmp_path: Path, server: SmtpServer
) -> None:
    server.tls = make_authority(tmp_path).server_context()
    settings.EMAIL_USE_TLS = True
    assert not deliver()
    alarm.refresh_from_db()
    assert (alarm.state, alarm.last_error) == (MailState.WAITING, "SSLCertVerificationError")
    assert server.taken == []


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
def test_a_mail_goes_out_over_tls(
    alarm: OutgoingMail, settings: Any, tmp_path: Path, server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = make_authority(tmp_path)
    server.tls = authority.server_context()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    settings.EMAIL_USE_TLS = True
    assert deliver()
    assert server.ids == [f"<{alarm.pk}@127.0.0.1>"]


def test_every_step_is_tried() -> None:
    assert {*BEFORE_TAKING, "STARTTLS", "QUIT"} == set(STEPS)


@pytest.mark.usefixtures("_mail_goes_there")
@pytest.mark.one_database
def test_a_mail_at_which_the_server_breaks_holds_up_no_other(
    alice: User, bob: User, server: SmtpServer, settings: Any
) -> None:
    settings.EMAIL_TIMEOUT = 0.3
    for user in (alice, bob):
        queue_mail(kind=code_alarm.KIND, user_id=user.pk, facts={"address": "203.0.113.9"})
    server.misbehave["text"] = hang
    assert not deliver()
    settings.EMAIL_TIMEOUT = 30
    del server.misbehave["text"]
    server.taken.clear()
    assert deliver()
    assert [message["To"] for message in server.taken] == [bob.email]


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_of_many_senders_one_sends(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them have read the row before one of them takes it."""
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
def test_a_sender_that_dies_before_it_has_noted_the_mail_sends_a_copy_that_mailboxes_know(
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
def test_the_outbox_is_bounded_and_strangers_get_half_of_it(
    alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_SIGNUP, settings.BERTH_SENDS_MAIL = "open", True
    monkeypatch.setattr(outbox, "MOST_WAITING", 6)
    answers = [Client().post("/sign-up", {"email": f"guest{number}@example.org"}) for number in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1]["Retry-After"] == "600"
    for _ in range(3):
        queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "x"})
    with pytest.raises(OutboxFullError):
        queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "x"})
    code_alarm.send_code_alarm(user=alice, address=None)
    assert OutgoingMail.objects.count() == 6


@pytest.mark.django_db
def test_no_row_ever_holds_a_link_that_lets_somebody_in(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BERTH_SIGNUP = "open"
    Client().post("/sign-up", {"email": "guest@example.org"})
    before = OutgoingMail.objects.values().get()
    deliver()
    [message] = mail.outbox
    assert "/set-password/" in message.body
    after = OutgoingMail.objects.values().get()
    token = message.body.partition("/set-password/")[2].split()[0]
    for row in (before, after):
        assert "set-password" not in str(row)
        assert token.rpartition("/")[2] not in str(row)


@pytest.mark.django_db
def test_what_nobody_needs_any_more_is_not_sent(alice: User, settings: Any) -> None:
    settings.BERTH_SIGNUP = "open"
    Client().post("/sign-up", {"email": "guest@example.org"})
    settings.BERTH_SIGNUP = "closed"
    queue_mail(kind=code_alarm.KIND, user_id=uuid4(), facts={"address": "x"})
    queue_mail(kind="agent", user_id=alice.pk, facts={"project": str(uuid4()), "reason": "x", "at": "x"})
    assert deliver()
    assert mail.outbox == []
    assert set(OutgoingMail.objects.values_list("state", flat=True)) == {MailState.NOT_NEEDED}


@pytest.mark.django_db
def test_a_mail_that_cannot_be_made_keeps_no_other(alice: User, caplog: pytest.LogCaptureFixture) -> None:
    queue_mail(kind="a later version's", user_id=alice.pk)
    queue_mail(kind=code_alarm.KIND, user_id=alice.pk)  # without its facts
    queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "203.0.113.9"})
    assert deliver()
    assert len(mail.outbox) == 1
    assert OutgoingMail.objects.filter(state=MailState.WAITING, last_error="KeyError").count() == 2


@pytest.mark.django_db
def test_nothing_is_begun_once_the_watcher_ends(alarm: OutgoingMail) -> None:
    send_due(renderers=RENDERERS, is_stopped=lambda: True)
    assert mail.outbox == []
    assert OutgoingMail.objects.get().attempts == 0


@pytest.mark.django_db
def test_staff_are_told_what_waits_and_what_was_lost(alarm: OutgoingMail) -> None:
    assert describe_trouble() == ""
    long_ago = timezone.now() - timedelta(minutes=11)
    OutgoingMail.objects.update(created_at=long_ago, attempts=1, last_error="TimeoutError")
    assert "1 wait for the mail server, 0 were refused" in describe_trouble()
    assert "TimeoutError" in describe_trouble()
    OutgoingMail.objects.update(state=MailState.REFUSED, ended_at=timezone.now(), last_error="SMTPDataError 554 5.7.1")
    assert "0 wait for the mail server, 1 were refused" in describe_trouble()
    OutgoingMail.objects.update(state=MailState.SENT)
    assert describe_trouble() == ""


@pytest.mark.django_db
def test_only_so_many_that_have_ended_are_kept(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.throttling.retention.MOST_ENDED", 3)
    now = timezone.now()
    for number in range(5):
        OutgoingMail.objects.create(
            kind="x", user_id=alice.pk, state=MailState.SENT, ended_at=now - timedelta(minutes=number)
        )
    waiting = OutgoingMail.objects.create(kind="x", user_id=alice.pk)
    list(prune())
    ages = [now - row.ended_at for row in OutgoingMail.objects.exclude(pk=waiting.pk) if row.ended_at]
    assert sorted(ages) == [timedelta(minutes=number) for number in range(3)]
    assert OutgoingMail.objects.filter(pk=waiting.pk).exists()


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_a_thread_of_its_own_sends_while_the_engine_is_silent(
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
