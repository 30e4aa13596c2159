"""The pages for a whole account: exporting its data, and deleting it."""

from functools import partial
from typing import cast

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from accounts.dashboard.decorators import for_signed_in, settings_form
from accounts.dashboard.forms.second_factor import PasswordAndAnyCodeForm
from accounts.http import SignedInRequest, client_address
from projects.dashboard.downloads import send_download
from projects.dashboard.own_projects import actor
from projects.errors import AccountKeptError, TooManyExportsError, TooManyStreamsError
from projects.models import Project
from projects.services.account.deletion import check_may_go, delete_account
from projects.services.account.export import start_export


@settings_form  # type: ignore[arg-type]  # a stream is not an HttpResponse, which the decorator does not need
def export_data(request: SignedInRequest) -> HttpResponseBase:
    try:
        begin = partial(start_export, user=request.user)
        return send_download(request, begin, name="berth-account.zip", content_type="application/zip")
    except (TooManyExportsError, TooManyStreamsError) as error:
        messages.error(request, str(error))
        return redirect("accounts:settings")


@sensitive_post_parameters()
@for_signed_in
def remove_account(request: SignedInRequest) -> HttpResponse:
    form = PasswordAndAnyCodeForm(request.user, client_address(request), request.POST or None)
    page = {"form": form, "projects": Project.objects.owned_by(request.user).live().count()}
    try:
        check_may_go(request.user)
        if request.method != "POST" or not form.is_valid():
            return render(request, "projects/delete_account.html", page)
        gone = delete_account(user=request.user, session=request.session, actor=actor(request))
    except AccountKeptError as error:
        return render(request, "projects/delete_account.html", page | {"error": error}, status=409)
    logout(cast("HttpRequest", request))
    if gone:
        messages.success(request, "Your account is deleted.")
    else:
        messages.warning(
            request,
            "Your account is closed: nobody can sign in to it. Your agents are being removed, and the account "
            "is gone when the engine has confirmed it.",
        )
    return redirect("accounts:sign-in")
