"""Signs users in and out, and changes their passwords. API keys are in `services.api_keys`."""

import logging

from django.contrib.auth import logout
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts import audit
from accounts.credentials.session_tokens import issue_session, revoke_session
from accounts.emails import normalise_email
from accounts.errors import InvalidCredentialsError, SecondFactorRequiredError, WrongCodeError
from accounts.http import Credential
from accounts.models import OpenSession, User
from accounts.services.open_sessions import note_api_session
from accounts.services.page_tokens import end_page_tokens
from accounts.services.second_factor import check_second_factor, has_second_factor
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in
from accounts.throttling.login_attempts import account_digest, check_limit, reset_attempts


@sensitive_variables("password")
def authenticate(*, email: str, password: str, address: str | None) -> User:
    """Returns the user with this email and password.

    Raises TooManyAttemptsError before any check, and InvalidCredentialsError after the same amount of work for an
    unknown email, a wrong password and an inactive user.
    """
    check_limit(email=email, address=address)
    user = User.objects.filter(email=normalise_email(email)).first()
    if user is None:
        make_password(password)  # takes as long as checking a password
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
def log_in(*, email: str, password: str, code: str = "", address: str | None, program: str = "") -> tuple[str, User]:
    """Returns a session token for the API, and its user. `program` is the caller's own name, for the list of sessions.

    Raises the errors of `authenticate`. If the user has a second factor and the password is right, it also raises
    SecondFactorRequiredError for a missing or wrong code, and the other errors of `check_second_factor`.
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
    note_api_session(user=user, token=token, address=address, program=program)
    audit.record("signed_in", user=user.pk, to="api", address=address or "unknown")
    return token, user


def log_out(*, user: User, credential: Credential) -> None:
    """Ends the session of this token, and no other."""
    if credential.jti is not None and credential.expires_at is not None:
        with transaction.atomic():
            # Creating a key in this session locks the user, so the key exists before the session ends, or never.
            User.objects.select_for_update().filter(pk=user.pk).first()
            revoke_session(jti=credential.jti, expires_at=credential.expires_at)
            OpenSession.objects.filter(token=credential.jti).delete()
        audit.record("signed_out", user=user.pk, of="api")


def sign_out(*, request: HttpRequest) -> None:
    """Ends the session of a page of the dashboard or the admin, and with it the page tokens.

    The session ends first, because an open one could be given new tokens.
    """
    user = request.user
    logout(request)
    if isinstance(user, User):
        end_page_tokens(user=user)
        audit.record("signed_out", user=user.pk, of="dashboard")


def sign_out_everywhere(*, user: User) -> None:
    """Ends all sessions of the user, on the dashboard and the API. API keys stay."""
    User.objects.filter(pk=user.pk).update(session_version=F("session_version") + 1)
    user.refresh_from_db(fields=["session_version"])
    audit.record("signed_out", user=user.pk, of="everywhere")


@sensitive_variables("current", "new", "encoded")
def change_password(*, user: User, session: SignedInBy, current: str, new: str, address: str | None) -> None:
    """Sets the password `new`, which has passed the password validators, and ends all sessions.

    The caller keeps its own by renewing it. Raises the errors of `authenticate`, because someone who found an open
    browser gets no more attempts than anyone else, and InvalidTokenError if `session` has ended meanwhile.
    """
    checked = authenticate(email=user.email, password=current, address=address)
    encoded, version = make_password(new), user.session_version
    with transaction.atomic():
        lock_if_still_signed_in(user, session)
        unchanged = User.objects.filter(pk=user.pk, password=checked.password, session_version=version)
        if not unchanged.update(password=encoded, session_version=version + 1):
            raise InvalidCredentialsError  # another request with the same password was faster
    # The version that was written here, not the current one: a request that ends all sessions now must end this one
    # too.
    user.password, user.session_version = encoded, version + 1
    audit.record("password_set", user=user.pk)


@sensitive_variables("password")
def set_password(*, user: User, password: str) -> None:
    """Sets the password, which has passed the password validators, and ends all sessions."""
    with transaction.atomic():
        locked = User.objects.select_for_update().get(pk=user.pk)
        locked.set_password(password)
        locked.save(update_fields=["password", "session_version"])
    user.password, user.session_version = locked.password, locked.session_version
    audit.record("password_set", user=user.pk)
