"""No fault of the mail server loses a mail, and none is sent twice if that can be avoided."""

from pathlib import Path
from typing import Any

import pytest

from accounts.models import MailState, OutgoingMail, User
from accounts.services import code_alarm
from accounts.services.outbox import queue_mail, try_again
from tests.certificates import make_authority
from tests.fakes.smtp import STEPS, SmtpServer, babble, drip, hang, hang_up
from tests.mailing import deliver
from tests.people import email_of

REFUSALS = {"4xx": "451 4.7.1 not now", "5xx": "554 5.7.1 go away, you wrote {mail}"}


SILENCES: dict[str, Any] = {"hang": hang, "hang_up": hang_up, "drip": drip, "babble": babble, "nonsense": "what?"}


BEFORE_TAKING = ("connect", "EHLO", "MAIL", "RCPT", "DATA", "text")


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
    """The mail waits, or is kept as refused, no matter what the server does at which step. It is sent later."""
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
def test_a_fault_after_the_server_accepted_a_mail_sends_no_second_one(
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
def test_a_server_with_an_untrusted_certificate_gets_no_mail(
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
