"""Notifies a user by mail that someone who knows the password has used up the attempts at a code."""

import logging

from django.conf import settings
from django.template.loader import render_to_string

from accounts import audit
from accounts.errors import OutboxFullError
from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter, queue_mail
from accounts.throttling import counters

logger = logging.getLogger(__name__)

KIND = "second factor"
DAY = 86_400
MAILS_A_DAY = 3


def send_code_alarm(*, user: User, address: str | None) -> None:
    """Queues a mail to the user, at most `MAILS_A_DAY` a day, if there is a mail server."""
    audit.record("second_factor_closed", level=logging.WARNING, user=user.pk, address=address or "unknown")
    window = counters.current_window(DAY)
    if not settings.BERTH_SENDS_MAIL or not counters.consume(
        subject=user.pk.hex, scope="code-alarms", window=window, limit=MAILS_A_DAY
    ):
        return
    try:
        queue_mail(kind=KIND, user_id=user.pk, facts={"address": address or "an unknown address"})
    except OutboxFullError as error:
        logger.warning("There is no alarm for user %s: %s", user.pk, error)


def render_code_alarm(mail: OutgoingMail, _user: User) -> Letter:
    facts = {"public_url": settings.BERTH_PUBLIC_URL, "address": mail.facts["address"], "at": mail.created_at}
    text = render_to_string("accounts/code_alarm_mail.txt", facts)
    return Letter(subject="Someone knows your Berth password", text=text)
