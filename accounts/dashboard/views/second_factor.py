"""The pages that set up a second factor in two steps, renew its recovery codes and turn it off."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from accounts.credentials.one_time_codes import draw_enrolment, make_secret
from accounts.credentials.second_factor_secrets import decrypt_secret, encrypt_secret
from accounts.dashboard.decorators import for_signed_in
from accounts.dashboard.forms.second_factor import FirstCodeForm, PasswordAgainForm, PasswordAndCodeForm
from accounts.dashboard.middleware import needs_second_factor
from accounts.dashboard.session.expiring_values import discard, get_unexpired, set_with_expiry
from accounts.dashboard.session.keep_session import keep_session
from accounts.errors import (
    SecondFactorExistsError,
    SecondFactorUnreadableError,
    WrongCodeError,
)
from accounts.http import SignedInRequest, client_address
from accounts.services.second_factor import (
    disable_second_factor,
    enrol_second_factor,
    has_second_factor,
    renew_recovery_codes,
)

_SETUP = "second_factor_setup"
_SETUP_LIFETIME = timedelta(minutes=15)


@sensitive_post_parameters()
@for_signed_in
def begin_second_factor(request: SignedInRequest) -> HttpResponse:
    """First step: asks for the password, so that someone who finds an open browser cannot lock its owner out."""
    if has_second_factor(request.user):
        return redirect("accounts:settings")
    form = PasswordAgainForm(request.user, client_address(request), request.POST or None)
    if request.method != "POST" or not form.is_valid():
        context = {"form": form, "required": needs_second_factor(request.user)}
        return render(request, "accounts/second_factor_begin.html", context)
    ciphertext = encrypt_secret(make_secret(), user_id=request.user.pk)
    set_with_expiry(request.session, _SETUP, ciphertext, lifetime=_SETUP_LIFETIME)
    return redirect("accounts:second-factor-confirm")


@sensitive_variables("secret", "codes")
@for_signed_in
def confirm_second_factor(request: SignedInRequest) -> HttpResponse:
    """Second step: shows the secret, and asks for a code that proves that the app knows it."""
    secret = _secret_being_set_up(request)
    if secret is None:
        return redirect("accounts:second-factor")
    form = FirstCodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            codes = enrol_second_factor(
                user=request.user,
                session=request.session,
                secret=secret,
                code=form.cleaned_data["code"],
                address=client_address(request),
            )
        except WrongCodeError as error:
            form.add_error("code", str(error))
        except SecondFactorExistsError as error:
            messages.info(request, str(error))
            return redirect("accounts:settings")
        else:
            discard(request.session, _SETUP)
            keep_session(request)
            return _show_codes(request, codes, title="Your second factor is on")
    groups = [secret[start : start + 4] for start in range(0, len(secret), 4)]
    return render(request, "accounts/second_factor_confirm.html", {"form": form, "secret": " ".join(groups)})


@sensitive_variables("secret")
@for_signed_in
def show_second_factor_picture(request: SignedInRequest) -> HttpResponse:
    """Shows the secret as a QR code, only while it is being set up."""
    secret = _secret_being_set_up(request)
    if secret is None:
        raise Http404("No second factor is being set up.")
    return HttpResponse(draw_enrolment(email=request.user.email, secret=secret), content_type="image/svg+xml")


def require_password_and_code(template: str) -> Callable[[Callable[[SignedInRequest], HttpResponse]], Any]:
    """Decorates a page that shows `template` until password and code are right, and only then runs the view."""

    def decorate(act: Callable[[SignedInRequest], HttpResponse]) -> Any:
        def view(request: SignedInRequest) -> HttpResponse:
            if not has_second_factor(request.user):
                return redirect("accounts:settings")
            form = PasswordAndCodeForm(request.user, client_address(request), request.POST or None)
            if request.method == "POST" and form.is_valid():
                return act(request)
            return render(request, template, {"form": form})

        return sensitive_post_parameters()(for_signed_in(view))

    return decorate


@sensitive_variables("codes")
@require_password_and_code("accounts/recovery_codes_form.html")
def make_recovery_codes(request: SignedInRequest) -> HttpResponse:
    codes = renew_recovery_codes(user=request.user, session=request.session)
    return _show_codes(request, codes, title="Your new recovery codes")


@require_password_and_code("accounts/second_factor_off.html")
def turn_off_second_factor(request: SignedInRequest) -> HttpResponse:
    disable_second_factor(user=request.user, session=request.session)
    messages.success(request, "Your second factor is off. The password alone signs you in.")
    return redirect("accounts:settings")


@sensitive_variables("codes")
def _show_codes(request: HttpRequest, codes: list[str], *, title: str) -> HttpResponse:
    """Shows the codes without a redirect, which would have to store them until the next request."""
    return render(request, "accounts/recovery_codes.html", {"title": title, "codes": codes})


def _secret_being_set_up(request: SignedInRequest) -> str | None:
    """Returns the secret. Returns None if none is being set up or it can no longer be read; the user must begin again
    then.
    """
    ciphertext = get_unexpired(request.session, _SETUP)
    if ciphertext is None or has_second_factor(request.user):
        return None
    try:
        return decrypt_secret(ciphertext, user_id=request.user.pk)
    except SecondFactorUnreadableError:
        return None
