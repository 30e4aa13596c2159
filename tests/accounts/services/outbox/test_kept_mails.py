"""What the outbox contains: a limited number of mails, no secret, and nothing that is no longer needed."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.errors import OutboxFullError
from accounts.models import MailState, OutgoingMail, User
from accounts.services import code_alarm, outbox
from accounts.services.outbox import queue_mail
from accounts.services.outbox_health import SEVERAL, describe_outage, describe_trouble
from projects.watcher.upkeep.retention import prune
from tests.mailing import deliver


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
def test_no_row_ever_holds_a_sign_in_link(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_outdated_mails_are_not_sent(alice: User, settings: Any) -> None:
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
    assert OutgoingMail.objects.filter(state=MailState.WAITING, last_error="Broken: KeyError").count() == 2


@pytest.mark.django_db
def test_staff_see_waiting_and_lost_mails(alarm: OutgoingMail) -> None:
    assert describe_trouble() == ""
    long_ago = timezone.now() - timedelta(minutes=11)
    OutgoingMail.objects.update(created_at=long_ago, attempts=1, last_error="TimeoutError")
    assert "1 wait for the mail server, 0 were refused" in describe_trouble()
    assert "TimeoutError" in describe_trouble()
    OutgoingMail.objects.update(state=MailState.REFUSED, ended_at=timezone.now(), last_error="SMTPDataError 554 5.7.1")
    assert "0 wait for the mail server, 1 were refused" in describe_trouble()
    OutgoingMail.objects.update(state=MailState.SENT)
    assert describe_trouble() == ""


OUTAGES = [
    ("waiting", "TimeoutError", True),
    ("waiting", "", True),
    ("given up", "ConnectionRefusedError", True),
    ("waiting", "SMTPAuthenticationError 535 5.7.8", True),
    ("waiting", "SMTPDataError 450 4.2.0", False),
    ("given up", "SMTPDataError 450 4.2.0", False),
    ("refused", "SMTPDataError 554 5.7.1", False),
    ("waiting", "Broken: KeyError", False),
]


@pytest.mark.django_db
def test_an_outage_delays_all_mails_and_a_bad_mail_only_itself(alarm: OutgoingMail) -> None:
    now = timezone.now()
    for state, error, is_outage in OUTAGES:
        ended = None if state == "waiting" else now
        row = {"created_at": now - timedelta(minutes=11), "attempts": 1, "state": state, "ended_at": ended}
        OutgoingMail.objects.filter(pk=alarm.pk).update(**row, last_error=error)
        assert (describe_outage() != "") is is_outage, (state, error)
    OutgoingMail.objects.update(state=MailState.WAITING, last_error="TimeoutError")
    for minutes, is_outage in ((12, True), (1, False), (-5, True)):  # the last one is of a clock that was set back
        sent = now - timedelta(minutes=minutes)
        other = OutgoingMail.objects.create(kind="x", user_id=alarm.user_id, state=MailState.SENT, ended_at=sent)
        assert (describe_outage() != "") is is_outage
        other.delete()


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["refused", "waiting"])
def test_a_server_that_refuses_several_mails_in_a_row_is_an_outage(state: str) -> None:
    def refuse(user_id: UUID) -> None:
        ended = None if state == "waiting" else timezone.now()
        error = "SMTPDataError 554 5.7.1"
        OutgoingMail.objects.create(kind="x", user_id=user_id, state=state, ended_at=ended, last_error=error)

    sent = OutgoingMail.objects.create(kind="x", user_id=uuid4(), state=MailState.SENT, ended_at=timezone.now())
    same, others = uuid4(), [uuid4() for _ in range(SEVERAL - 1)]
    for user_id in (same, same, same, *others[:-1]):
        refuse(user_id)
    assert describe_outage() == ""
    refuse(others[-1])
    assert f"those to {SEVERAL} people were refused" in describe_outage()
    OutgoingMail.objects.filter(pk=sent.pk).update(ended_at=timezone.now())
    assert describe_outage() == ""


@pytest.mark.django_db
def test_the_number_of_kept_finished_mails_is_limited(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
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
