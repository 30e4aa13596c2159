"""Lets people create their own accounts if `BERTH_SIGNUP` is open. A link in a mail proves their address."""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.http import HttpRequest
from django.template.loader import render_to_string

from accounts import audit
from accounts.emails import normalise_email
from accounts.errors import OutboxFullError, TooManyAttemptsError
from accounts.http import client_address, client_network
from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter, queue_mail
from accounts.services.set_password_links import make_set_password_link
from accounts.throttling import counters
from accounts.throttling.login_attempts import account_digest

KIND = "sign-up"
HOUR = 3600
ASKED_PER_ADDRESS = 10
MAILS_PER_ACCOUNT = 3
"""Per hour. Further requests get the same answer, but no mail is sent."""

WHEN_FULL = 600
"""Seconds after which someone may ask again while the mail server has not accepted the mails of others."""


def send_sign_up_link(request: HttpRequest, *, email: str) -> None:
    """Queues a mail with a set-password link to the account with this email, and creates the account if there is none.

    The caller cannot distinguish a known email, an unknown one, an inactive user and one that has had its mails, not
    even by the time the call takes: each costs one written row and one mail. Raises `TooManyAttemptsError`.
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
    try:
        queue_mail(kind=KIND, user_id=user.pk, by_stranger=True)
    except OutboxFullError:
        raise TooManyAttemptsError(retry_after=WHEN_FULL) from None


def _get_or_create(email: str) -> User:
    try:
        with transaction.atomic():
            user = User.objects.filter(email=email).first()
            if user is None:
                return User.objects.create_user(email)
            User.objects.filter(pk=user.pk).update(email=F("email"))  # takes as long as creating one
            return user
    except IntegrityError:  # another request for this email at the same moment
        return User.objects.get(email=email)


def render_sign_up_mail(_mail: OutgoingMail, user: User) -> Letter | None:
    """Writes the mail. The link is created now, so it is stored nowhere and is as old as the mail.

    The mail has no link if the account is not active: only the owner of the mailbox learns that.
    """
    if settings.BERTH_SIGNUP != "open":
        return None
    link = make_set_password_link(user=user, by=user) if user.is_active else ""
    facts = {"link": link, "public_url": settings.BERTH_PUBLIC_URL}
    return Letter(subject="Your Berth account", text=render_to_string("accounts/sign_up_mail.txt", facts))
