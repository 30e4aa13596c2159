"""Signing in and out, passwords. What concerns API keys is in `key_services`."""

import logging

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts import audit
from accounts.credentials.session_tokens import issue_session, revoke_session
from accounts.emails import normalise_email
from accounts.errors import InvalidCredentialsError, SecondFactorRequiredError, WrongCodeError
from accounts.http import Credential
from accounts.models import User
from accounts.services.second_factor import check_second_factor, has_second_factor
from accounts.throttling.login_attempts import account_digest, check_limit, reset_attempts


@sensitive_variables("password")
def authenticate(*, email: str, password: str, address: str | None) -> User:
    """The user with this email and password.

    Raises InvalidCredentialsError, after the same work whether the email, the password or the user's being inactive
    is the reason, and TooManyAttemptsError before any work.
    """
    check_limit(email=email, address=address)
    user = User.objects.filter(email=normalise_email(email)).first()
    if user is None:
        make_password(password)  # as long as checking one takes
        correct = False
    else:
        correct = user.check_password(password)
    if user is None or not correct or not user.is_active:
        audit.record(
            "sign_in_failed", level=logging.WARNING, account=account_digest(email)[:12], address=address or "unknown"
        )
        raise InvalidCredentialsError
    reset_attempts(email=email, address=address)
    return user


@sensitive_variables("password", "code", "token")
def log_in(*, email: str, password: str, code: str = "", address: str | None) -> tuple[str, User]:
    """A session token for the API, and its user. Raises as `authenticate` does.

    Raises SecondFactorRequiredError, and only once the password is right, where the user has a second factor and
    `code` is none of its codes.
    """
    user = authenticate(email=email, password=password, address=address)
    if has_second_factor(user):
        if not code:
            raise SecondFactorRequiredError
        try:
            check_second_factor(user=user, code=code, address=address)
        except WrongCodeError:
            raise SecondFactorRequiredError from None
    User.objects.filter(pk=user.pk).update(last_login=timezone.now())
    token = issue_session(user)
    audit.record("signed_in", user=user.pk, to="api", address=address or "unknown")
    return token, user


def log_out(*, user: User, credential: Credential) -> None:
    """End the session that this token stands for, and only that one."""
    if credential.jti is not None and credential.expires_at is not None:
        revoke_session(jti=credential.jti, expires_at=credential.expires_at)
        audit.record("signed_out", user=user.pk, of="api")


def sign_out_everywhere(*, user: User) -> None:
    """End all sessions of the user, dashboard and API. API keys stay."""
    User.objects.filter(pk=user.pk).update(session_version=F("session_version") + 1)
    user.refresh_from_db(fields=["session_version"])
    audit.record("signed_out", user=user.pk, of="everywhere")


@sensitive_variables("current", "new")
def change_password(*, user: User, current: str, new: str, address: str | None) -> None:
    """Ends all sessions; the caller keeps its own by renewing it. `new` has passed the password validators.

    Raises as `authenticate` does: whoever found an open browser has no more tries than anyone else.
    """
    authenticate(email=user.email, password=current, address=address)
    set_password(user=user, password=new)


@sensitive_variables("password")
def set_password(*, user: User, password: str) -> None:
    with transaction.atomic():
        locked = User.objects.select_for_update().get(pk=user.pk)
        locked.set_password(password)
        locked.save(update_fields=["password", "session_version"])
    user.password, user.session_version = locked.password, locked.session_version
    audit.record("password_set", user=user.pk)
