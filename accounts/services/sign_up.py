"""Lets people make their own accounts if `BERTH_SIGNUP` is open. A link in a mail proves that the address is theirs."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import F
from django.http import HttpRequest
from django.template.loader import render_to_string

from accounts import audit
from accounts.emails import normalise_email
from accounts.errors import TooManyAttemptsError
from accounts.http import client_address, client_network
from accounts.models import User
from accounts.services.set_password_links import make_set_password_link
from accounts.throttling import counters
from accounts.throttling.login_attempts import account_digest

logger = logging.getLogger(__name__)

HOUR = 3600
ASKED_PER_ADDRESS = 10
MAILS_PER_ACCOUNT = 3
"""In an hour. Further requests get the same answer, but no mail is sent."""


def send_sign_up_link(request: HttpRequest, *, email: str) -> None:
    """Mails a set-password link to the account with this email, and creates the account if there is none.

    The caller cannot tell a known email from an unknown one, an inactive user, or one that has had its mails, not even
    by the time it takes: each kind of account costs one written row and one mail. Raises `TooManyAttemptsError`.
    """
    address = client_address(request)
    window = counters.current_window(HOUR)
    client, account = client_network(address), account_digest(email)
    if not counters.consume(subject=client, scope="sign-ups", window=window, limit=ASKED_PER_ADDRESS):
        raise TooManyAttemptsError(retry_after=counters.seconds_until_end(window, HOUR))
    if not counters.consume(subject=account, scope="sign-up-mails", window=window, limit=MAILS_PER_ACCOUNT):
        return
    user = _get_or_create(normalise_email(email))
    audit.record("sign_up_asked", user=user.pk, address=address or "unknown")
    _send(user, make_set_password_link(user=user, by=user) if user.is_active else "")


def _get_or_create(email: str) -> User:
    try:
        with transaction.atomic():
            user = User.objects.filter(email=email).first()
            if user is None:
                return User.objects.create_user(email)
            User.objects.filter(pk=user.pk).update(email=F("email"))  # takes as long as creating one
            return user
    except IntegrityError:  # somebody asked at the same moment
        return User.objects.get(email=email)


def _send(user: User, link: str) -> None:
    """Mails the link, or without one that the account is not active: only the owner of the mailbox learns that."""
    text = render_to_string("accounts/sign_up_mail.txt", {"link": link, "public_url": settings.BERTH_PUBLIC_URL})
    try:
        send_mail("Your Berth account", text, None, [user.email])
    except (SMTPException, OSError, ValueError) as error:
        logger.warning("The sign-up mail for user %s could not be sent: %s", user.pk, type(error).__name__)
