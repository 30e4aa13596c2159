"""The pages on which people create, rotate and revoke their API keys."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables

from accounts.dashboard.decorators import for_signed_in, settings_form
from accounts.dashboard.forms.account import NewKeyForm, RotateKeyForm
from accounts.dashboard.views.settings_page import show_settings_page
from accounts.errors import KeyExistsError, KeyLimitReachedError, UnknownKeyError
from accounts.http import SignedInRequest
from accounts.models import ApiKey, Scope
from accounts.services.api_keys import issue_api_key, revoke_api_key, rotate_api_key


@settings_form
@sensitive_variables("key")
def make_key(request: SignedInRequest) -> HttpResponse:
    """Shows the key without a redirect, which would have to store the key until the next request."""
    form = NewKeyForm(request.POST)
    if not form.is_valid():
        return show_settings_page(request, form)
    try:
        row, key = issue_api_key(
            user=request.user,
            session=request.session,
            form_id=form.cleaned_data["id"],
            name=form.cleaned_data["name"],
            scope=Scope(form.cleaned_data["scope"]),
            lifetime_days=form.cleaned_data["lifetime"],
        )
    except KeyExistsError as error:
        messages.info(request, str(error))
        return redirect("accounts:settings")
    except KeyLimitReachedError as error:
        form.add_error(None, str(error))
        return show_settings_page(request, form)
    return show_settings_page(request, new_key=key, new_row=row)


@for_signed_in
def revoke_key(request: SignedInRequest, key_id: UUID) -> HttpResponse:
    key = ApiKey.objects.unrevoked().filter(user=request.user, pk=key_id).first()
    if key is None:
        raise Http404("There is no such API key.")
    if request.method != "POST":
        return render(request, "accounts/revoke_key.html", {"key": key})
    try:
        revoke_api_key(key_id=key.pk, owner=request.user, by=request.user)
    except UnknownKeyError as error:  # revoked since the query above
        raise Http404(str(error)) from None
    messages.success(request, f"The key “{key.name}” is revoked.")
    return redirect("accounts:settings")


@for_signed_in
@sensitive_variables("key")
def rotate_key(request: SignedInRequest, key_id: UUID) -> HttpResponse:
    """Asks for confirmation, then shows the new key as `make_key` does. Repeating the form creates no second key."""
    old = ApiKey.objects.live().lasting().filter(user=request.user, pk=key_id).first()
    if old is None:
        raise Http404("There is no such API key.")
    form = RotateKeyForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        page = {"key": old, "form": form}
        return render(request, "accounts/rotate_key.html", page, status=400 if form.is_bound else 200)
    try:
        row, key = rotate_api_key(
            user=request.user, session=request.session, key_id=old.pk, form_id=form.cleaned_data["id"]
        )
    except UnknownKeyError as error:  # revoked since the query above
        raise Http404(str(error)) from None
    except KeyExistsError as error:
        messages.info(request, str(error))
        return redirect("accounts:settings")
    except KeyLimitReachedError as error:
        page = {"key": old, "form": form, "error": error}
        return render(request, "accounts/rotate_key.html", page, status=403)
    return show_settings_page(request, new_key=key, new_row=row)
