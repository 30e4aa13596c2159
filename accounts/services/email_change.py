"""Changes the email of a user. A link sent to the new address confirms it, and the old address is notified."""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode

from accounts import audit
from accounts.credentials.email_tokens import make_token, read_token
from accounts.errors import EmailLinkNotValidError, EmailTakenError, TooManyLinksError
from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter, queue_mail
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in
from accounts.throttling import counters
from accounts.throttling.login_attempts import account_digest

ASKED, CHANGED = "new email", "email changed"
"""Kinds of mails: to the new address, and to the old one."""

HOUR = 3600
ASKED_PER_USER = 5
MAILS_PER_ADDRESS = 3
"""Per hour. A user who asks for more mails to one address gets the same answer, but no mail is sent."""


def ask_for_email(*, user: User, session: SignedInBy, email: str) -> None:
    """Queues a mail with a link to the new address. The caller has checked the user's password and code.

    The caller does not learn whether the address has an account. Raises TooManyLinksError, OutboxFullError, and
    InvalidTokenError if `session` has ended meanwhile.
    """
    window = counters.current_window(HOUR)
    with transaction.atomic():
        locked = lock_if_still_signed_in(user, session)
        subject = user.pk.hex
        if not counters.consume(subject=subject, scope="email-changes", window=window, limit=ASKED_PER_USER):
            raise TooManyLinksError(retry_after=counters.seconds_until_end(window, HOUR))
        subject = account_digest(email)
        if counters.consume(subject=subject, scope="new-email-mails", window=window, limit=MAILS_PER_ADDRESS):
            facts = {"email": email, "version": str(locked.session_version)}
            queue_mail(kind=ASKED, user_id=user.pk, facts=facts)
    audit.record("email_change_asked", user=user.pk)


def find_new_email(*, user: User, token: str) -> str:
    """Returns the address that this link confirms for the signed-in user. Raises EmailLinkNotValidError."""
    email = read_token(token, user)
    if email is None:
        raise EmailLinkNotValidError
    return email


def confirm_email(*, user: User, session: SignedInBy, token: str) -> None:
    """Changes the email, ends all sessions and queues a mail to the old address. The caller keeps its own session.

    Raises EmailLinkNotValidError, EmailTakenError, OutboxFullError, and InvalidTokenError as `ask_for_email` does.
    """
    email, before, version = find_new_email(user=user, token=token), user.email, user.session_version
    try:
        with transaction.atomic():
            locked = lock_if_still_signed_in(user, session)
            if locked.email != before:
                raise EmailLinkNotValidError
            User.objects.filter(pk=user.pk).update(email=email, session_version=version + 1)
            queue_mail(kind=CHANGED, user_id=user.pk, facts={"to": before, "email": email})
    except IntegrityError:
        raise EmailTakenError from None
    user.email, user.session_version = email, version + 1
    audit.record("email_changed", user=user.pk)


def render_new_email_mail(mail: OutgoingMail, user: User) -> Letter | None:
    """Writes the mail. The link is created now, so it is stored nowhere. If the address has an account, the mail has no
    link: only the owner of the mailbox learns that.
    """
    email = mail.facts["email"]
    if not user.is_active or str(user.session_version) != mail.facts["version"] or user.email == email:
        return None
    link = ""
    if not User.objects.filter(email=email).exists():
        query = urlencode({"link": make_token(user, email)})
        link = f"{settings.BERTH_PUBLIC_URL}{reverse('accounts:confirm-email')}?{query}"
    facts = {"link": link, "public_url": settings.BERTH_PUBLIC_URL}
    text = render_to_string("accounts/new_email_mail.txt", facts)
    return Letter(subject="Confirm your new email", text=text, to=email)


def render_changed_email_mail(mail: OutgoingMail, _user: User) -> Letter:
    facts = {"email": mail.facts["email"], "public_url": settings.BERTH_PUBLIC_URL, "at": mail.created_at}
    text = render_to_string("accounts/email_changed_mail.txt", facts)
    return Letter(subject="Your Berth account has another email", text=text, to=mail.facts["to"])
