"""The settings page, which also shows the errors of its forms."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.dashboard.forms.account import ChangePasswordForm, NewKeyForm, ProfileForm
from accounts.http import SignedInRequest, client_address
from accounts.models import ApiKey, SecondFactor
from accounts.services.open_sessions import is_session, list_sessions


def show_settings_page(request: SignedInRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
    """Shows the settings of the signed-in user. `form` is one with errors, instead of an empty one."""

    def shown(empty: forms.Form) -> forms.Form:
        return form if form is not None and type(form) is type(empty) else empty

    page = {
        "form": form,
        "address": settings.BERTH_PUBLIC_URL,
        "password_form": shown(ChangePasswordForm(request.user, client_address(request))),
        "key_form": shown(NewKeyForm()),
        "keys": ApiKey.objects.unrevoked().filter(user=request.user),
        "second_factor": SecondFactor.objects.filter(user=request.user).first(),
        "sessions": [(row, is_session(row, request.session)) for row in list_sessions(user=request.user)],
        "profile_form": shown(ProfileForm(request.user)),
        "recovery_codes_left": request.user.recovery_codes.count(),
        **context,
    }
    return render(request, "accounts/settings.html", page)
