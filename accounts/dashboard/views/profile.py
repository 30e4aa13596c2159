"""The name and the open sessions of a user, on the settings page."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.dashboard.decorators import settings_form
from accounts.dashboard.forms.account import ProfileForm
from accounts.dashboard.views.settings_page import show_settings_page
from accounts.errors import UnknownSessionError
from accounts.http import SignedInRequest
from accounts.models import OpenSession
from accounts.services.open_sessions import end_session, is_session
from accounts.services.profile import rename


@settings_form
def change_profile(request: SignedInRequest) -> HttpResponse:
    form = ProfileForm(request.user, request.POST)
    if not form.is_valid():
        return show_settings_page(request, form)
    rename(user=request.user, name=form.cleaned_data["name"])
    messages.success(request, "Your name is saved.")
    return redirect("accounts:settings")


@settings_form
def end_one_session(request: SignedInRequest, session_id: UUID) -> HttpResponse:
    row = OpenSession.objects.filter(user=request.user, pk=session_id).first()
    try:
        end_session(user=request.user, session_id=session_id)
    except UnknownSessionError as error:
        raise Http404(str(error)) from None
    if row is not None and is_session(row, request.session):
        logout(cast("HttpRequest", request))
        messages.success(request, "You are signed out here.")
        return redirect("accounts:sign-in")
    messages.success(request, "That session is ended.")
    return redirect("accounts:settings")
