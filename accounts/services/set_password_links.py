"""Makes the links that staff give to users who have no password or forgot it."""

from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts import audit
from accounts.models import User


def make_set_password_link(request: HttpRequest, *, user: User, by: User) -> str:
    """Returns a link to a page that sets the user's password. It works once, within three days.

    The link is not stored: its token is signed over the password, the email and the last sign-in, and becomes invalid
    when one of them changes.
    """
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    audit.record("set_password_link_made", user=user.pk, by=by.pk)
    return request.build_absolute_uri(reverse("accounts:set-password", kwargs={"uidb64": uid, "token": token}))
