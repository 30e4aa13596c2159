"""Creates and follows the links that staff give to users who have no password or forgot it."""

from uuid import UUID

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db.models import F
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.debug import sensitive_variables

from accounts import audit
from accounts.credentials.set_password_tokens import is_valid, make_token
from accounts.errors import InactiveUserError, LinkNotValidError
from accounts.models import User


def make_set_password_link(*, user: User, by: User) -> str:
    """Returns a link to a page that sets the user's password. It works once, within three days. It is not stored.

    It leads to BERTH_PUBLIC_URL, never to the `Host` of a request, which the sender chooses.
    `accounts.credentials.set_password_tokens` says what ends it earlier. Raises InactiveUserError.
    """
    if not user.is_active:
        raise InactiveUserError
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    audit.record("set_password_link_made", user=user.pk, by=by.pk)
    path = reverse("accounts:set-password", kwargs={"uidb64": uid, "token": make_token(user)})
    return settings.BERTH_PUBLIC_URL + path


def find_linked_user(uid: str) -> User | None:
    """Returns the active user whom the first part of a link identifies, or None."""
    try:
        user_id = UUID(urlsafe_base64_decode(uid).decode())
    except ValueError:
        return None
    return User.objects.filter(pk=user_id, is_active=True).first()


def open_set_password_link(*, uid: str, token: str) -> User:
    """Returns the user of the link. Raises LinkNotValidError."""
    user = find_linked_user(uid)
    if user is None or not is_valid(token, user):
        raise LinkNotValidError
    return user


@sensitive_variables("password", "encoded")
def use_set_password_link(*, user: User, password: str) -> None:
    """Sets the password, which has passed the password validators, and ends all sessions and links of the user.

    `user` is the row as it was when the link was checked. One UPDATE compares everything that the link covers with the
    current row, so that only one of several simultaneous uses succeeds. Raises LinkNotValidError for the others.
    """
    encoded = make_password(password)
    unchanged = User.objects.filter(
        pk=user.pk,
        email=user.email,
        password=user.password,
        session_version=user.session_version,
        is_active=True,
        is_staff=user.is_staff,
        is_superuser=user.is_superuser,
        last_login=user.last_login,
    )
    if not unchanged.update(password=encoded, session_version=F("session_version") + 1):
        raise LinkNotValidError
    audit.record("password_set", user=user.pk)
