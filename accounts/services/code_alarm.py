"""Tells a user by mail that somebody who knows the password has used up the tries of a code."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string

from accounts import audit
from accounts.models import User
from accounts.throttling import counters

logger = logging.getLogger(__name__)

DAY = 86_400
MAILS_A_DAY = 3


def send_code_alarm(*, user: User, address: str | None) -> None:
    """Mails the user, at most `MAILS_A_DAY` times a day, and where there is a mail server."""
    audit.record("second_factor_closed", level=logging.WARNING, user=user.pk, address=address or "unknown")
    window = counters.current_window(DAY)
    if not settings.BERTH_SENDS_MAIL or not counters.consume(
        subject=user.pk.hex, scope="code-alarms", window=window, limit=MAILS_A_DAY
    ):
        return
    facts = {"public_url": settings.BERTH_PUBLIC_URL, "address": address or "an unknown address"}
    text = render_to_string("accounts/code_alarm_mail.txt", facts)
    try:
        send_mail("Somebody knows your Berth password", text, None, [user.email])
    except (SMTPException, OSError, ValueError) as error:
        logger.warning("The alarm for user %s could not be sent: %s", user.pk, type(error).__name__)
