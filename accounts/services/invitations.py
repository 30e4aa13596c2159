"""Creates accounts for many people at once, each with a set-password link by mail or for the staff to hand over."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.emails import clean_email
from accounts.errors import OutboxFullError
from accounts.models import OutgoingMail, Role, User
from accounts.services.outbox import Letter, queue_mail
from accounts.services.set_password_links import make_set_password_link
from accounts.throttling import counters

KIND = "invitation"

MOST = 100
"""How many invitations one request creates."""

DAY = 86_400
MAILS_A_DAY = 500
MAILS_PER_ACCOUNT = 3
"""How many mails one member of the staff may send in a day, and one person may get."""

HAS_ACCOUNT = "This email has an account."
NO_ROOM = "Too many mails are waiting for the mail server. Invite these people later, or by a link."
ENOUGH = f"You have invited {MAILS_A_DAY} people by mail today. Continue tomorrow, or use links."
ENOUGH_FOR_ONE = "This person has been invited often enough today."


class Invitation(NamedTuple):
    """`link` is empty if there is none: `problem` says why, or the mail is on its way. `is_new` says that the account
    was created for `user`.
    """

    email: str
    link: str = ""
    problem: str = ""
    user: User | None = None
    is_new: bool = False


class _NotInvitedError(Exception):
    """The message says why. Everything that was done for the address is undone."""


@sensitive_variables()
def invite(emails: Sequence[str], *, by: User, by_mail: bool = False) -> list[Invitation]:
    """Returns an invitation for each address, for the first `MOST` of them.

    People who have an account get neither link nor mail, except that a mail also invites those who have never signed
    in. A link is created when its mail is sent, and is not stored.
    """
    return [_invite(email, by, by_mail=by_mail) for email in dict.fromkeys(emails[:MOST])]


@sensitive_variables()
def _invite(text: str, by: User, *, by_mail: bool) -> Invitation:
    try:
        email = clean_email(text)
    except ValidationError as error:
        return Invitation(text[:254], problem=str(error.messages[0]))
    try:
        with transaction.atomic():
            return _mail(email, by) if by_mail else _make_link(email, by)
    except IntegrityError:  # another request created it at the same moment
        return Invitation(email, problem=HAS_ACCOUNT)
    except _NotInvitedError as error:
        return Invitation(email, problem=str(error))


def _make_link(email: str, by: User) -> Invitation:
    if User.objects.filter(email=email).exists():
        raise _NotInvitedError(HAS_ACCOUNT)
    user = User.objects.create_user(email)
    return Invitation(email, link=make_set_password_link(user=user, by=by), user=user, is_new=True)


def _mail(email: str, by: User) -> Invitation:
    known = User.objects.filter(email=email).first()
    if known is not None and not _was_never_used(known):
        raise _NotInvitedError(HAS_ACCOUNT)
    user = known or User.objects.create_user(email)
    window = counters.current_window(DAY)
    if not counters.consume(subject=by.pk.hex, scope="invitations", window=window, limit=MAILS_A_DAY):
        raise _NotInvitedError(ENOUGH)
    if not counters.consume(subject=user.pk.hex, scope="invited", window=window, limit=MAILS_PER_ACCOUNT):
        raise _NotInvitedError(ENOUGH_FOR_ONE)
    try:
        queue_mail(kind=KIND, user_id=user.pk, facts={"by": str(by.pk)})
    except OutboxFullError:
        raise _NotInvitedError(NO_ROOM) from None
    return Invitation(email, user=user, is_new=known is None)


def _was_never_used(user: User) -> bool:
    """Returns whether this is an ordinary account that nobody has used yet. Staff get links by hand only."""
    return user.is_active and user.role == Role.USER and user.last_login is None and not user.has_usable_password()


def render_invitation(mail: OutgoingMail, user: User) -> Letter | None:
    """Skips people who have signed in meanwhile, and invitations by someone who is no longer staff."""
    by = User.objects.filter(pk=mail.facts["by"], is_active=True, is_staff=True).first()
    if by is None or not _was_never_used(user):
        return None
    facts = {
        "by": by.email,
        "link": make_set_password_link(user=user, by=by),
        "until": clock.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT),
        "public_url": settings.BERTH_PUBLIC_URL,
    }
    text = render_to_string("accounts/invitation_mail.txt", facts)
    return Letter(subject=f"An invitation to {settings.BERTH_PUBLIC_URL}", text=text)
