"""The pages on which people change their email."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.dashboard.decorators import for_signed_in
from accounts.dashboard.forms.second_factor import NewEmailForm
from accounts.dashboard.session.keep_session import keep_session
from accounts.errors import EmailLinkNotValidError, EmailTakenError, OutboxFullError, TooManyLinksError
from accounts.http import SignedInRequest, client_address
from accounts.services.email_change import ask_for_email, confirm_email, find_new_email


@sensitive_post_parameters()
@for_signed_in
def change_email(request: SignedInRequest) -> HttpResponse:
    page = "accounts/email.html"
    if not settings.BERTH_SENDS_MAIL:
        return render(request, page, {"sends_no_mail": True})
    form = NewEmailForm(request.user, client_address(request), request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render(request, page, {"form": form})
    email = form.cleaned_data["email"]
    try:
        ask_for_email(user=request.user, session=request.session, email=email)
    except (TooManyLinksError, OutboxFullError) as error:
        form.add_error(None, str(error))
        headers = {"Retry-After": str(error.retry_after)}
        return HttpResponse(render_to_string(page, {"form": form}, request), status=429, headers=headers)
    messages.success(request, f"A link is on its way to {email}. Open it here, within a day, to confirm the address.")
    return redirect("accounts:settings")


@never_cache
@for_signed_in
def confirm_new_email(request: SignedInRequest) -> HttpResponse:
    """Asks for confirmation first, because mail filters open links, too."""
    token = request.GET.get("link", "")
    try:
        email = find_new_email(user=request.user, token=token)
        if request.method != "POST":
            return render(request, "accounts/confirm_email.html", {"email": email})
        confirm_email(user=request.user, session=request.session, token=token)
    except (EmailLinkNotValidError, EmailTakenError, OutboxFullError) as error:
        return render(request, "accounts/confirm_email.html", {"error": error}, status=409)
    keep_session(request)
    messages.success(request, f"Your email is {email} now. All other sessions are signed out.")
    return redirect("accounts:settings")
