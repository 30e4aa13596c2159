"""Makes accounts for many people at once, each with a link by which they set their password."""

from collections.abc import Sequence
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from accounts.emails import clean_email
from accounts.models import User
from accounts.services.set_password_links import make_set_password_link

MOST = 100
"""Invitations that one request makes."""


class Invitation(NamedTuple):
    """`link` is empty where there is none; `problem` says why. `user` is whom it made an account for."""

    email: str
    link: str = ""
    problem: str = ""
    user: User | None = None


@sensitive_variables()
def invite(emails: Sequence[str], *, by: User) -> list[Invitation]:
    """One for each address, the first `MOST` of them. Who has an account already gets no link."""
    return [_invite(email, by) for email in dict.fromkeys(emails[:MOST])]


@sensitive_variables()
def _invite(text: str, by: User) -> Invitation:
    try:
        email = clean_email(text)
    except ValidationError as error:
        return Invitation(text[:254], problem=str(error.messages[0]))
    try:
        with transaction.atomic():
            if User.objects.filter(email=email).exists():
                return Invitation(email, problem="This email has an account.")
            user = User.objects.create_user(email)
            return Invitation(email, link=make_set_password_link(user=user, by=by), user=user)
    except IntegrityError:  # somebody made it at the same moment
        return Invitation(email, problem="This email has an account.")
