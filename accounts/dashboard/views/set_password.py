"""The pages behind a set-password link."""

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.dashboard.forms.account import NewPasswordForm
from accounts.dashboard.session import opened_link
from accounts.errors import LinkNotValidError
from accounts.models import User
from accounts.services.set_password_links import open_set_password_link

_WITHOUT_TOKEN = "set-password"  # noqa: S105 - stands in the address in place of the token


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def set_password_page(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """Removes the token from the address first, so that the address of the page has none in history, logs and
    referrers.
    """
    try:
        if token == _WITHOUT_TOKEN:
            return _show_form(request, uidb64)
        opened_link.remember(request, open_set_password_link(uid=uidb64, token=token))
        return redirect("accounts:set-password", uidb64=uidb64, token=_WITHOUT_TOKEN)
    except LinkNotValidError:
        return render(request, "accounts/set_password.html", {"validlink": False})


def _show_form(request: HttpRequest, uid: str) -> HttpResponse:
    user = opened_link.find_user(request, uid)
    if user is None:
        raise LinkNotValidError
    form = NewPasswordForm(user, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(request, "accounts/set_password.html", {"form": form, "validlink": True})
    form.save()
    opened_link.forget(request)
    messages.success(request, _say_what_is_set(user, request.user))
    return redirect("accounts:sign-in")


def _say_what_is_set(user: User, visitor: User | AnonymousUser) -> str:
    """Returns the sentence for the next page: that of signing in, or the list of another user who is signed in here."""
    if visitor.is_authenticated and visitor.pk != user.pk:
        return f"The password of {user.email} is set. You are still signed in as {visitor.email}."
    return "Your password is set. Sign in with it."
