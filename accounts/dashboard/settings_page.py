"""The page of the settings, which the forms on it answer with, too."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.dashboard.forms import ChangePasswordForm, NewKeyForm, ProfileForm
from accounts.http import SignedInRequest, client_address
from accounts.models import ApiKey, SecondFactor
from accounts.services.open_sessions import is_session, list_sessions


def show_settings_page(request: SignedInRequest, **context: Any) -> HttpResponse:
    """The settings of who is signed in, with what `context` has in place of the rest."""
    page = {
        "address": settings.BERTH_PUBLIC_URL,
        "password_form": ChangePasswordForm(request.user, client_address(request)),
        "key_form": NewKeyForm(),
        "keys": ApiKey.objects.unrevoked().filter(user=request.user),
        "second_factor": SecondFactor.objects.filter(user=request.user).first(),
        "sessions": [(row, is_session(row, request.session)) for row in list_sessions(user=request.user)],
        "profile_form": ProfileForm(request.user),
        "recovery_codes_left": request.user.recovery_codes.count(),
        **context,
    }
    return render(request, "accounts/settings.html", page)
