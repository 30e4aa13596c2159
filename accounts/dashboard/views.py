"""The account pages of the dashboard: signing in and out, settings, API keys."""

from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, logout, update_session_auth_hash
from django.contrib.auth import views as auth_views
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from accounts import audit
from accounts.dashboard import pending_sign_in
from accounts.dashboard.decorators import for_signed_in, settings_form
from accounts.dashboard.forms import ChangePasswordForm, NewKeyForm, SignInForm
from accounts.dashboard.second_factor_forms import RecoveryCodeForm, SignInCodeForm
from accounts.errors import KeyExistsError, KeyLimitReachedError, UnknownKeyError
from accounts.http import SignedInRequest, client_address
from accounts.models import ApiKey, Scope, SecondFactor, User
from accounts.services.api_keys import issue_api_key, revoke_api_key, rotate_api_key
from accounts.services.page_tokens import end_page_tokens
from accounts.services.second_factor import has_second_factor
from accounts.services.sign_in import sign_out_everywhere


class SignInView(auth_views.LoginView):
    template_name = "accounts/sign_in.html"
    form_class = SignInForm  # type: ignore[assignment]  # Django's own is one for a username
    redirect_authenticated_user = True
    extra_context = {"sign_up_is_open": settings.BERTH_SIGNUP == "open"}

    def form_valid(self, form: Any) -> HttpResponse:
        if has_second_factor(form.user):
            pending_sign_in.begin(self.request, form.user)
            return redirect(_with_next(reverse("accounts:sign-in-code"), self.get_redirect_url()))
        return self.complete_sign_in(form)

    def complete_sign_in(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        # A point in time, because a number of seconds would start again with every change to the session.
        self.request.session.set_expiry(timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))
        audit.record("signed_in", user=form.user.pk, to="dashboard", address=form.address or "unknown")
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.retry_after is not None:
            response.status_code = 429
            response["Retry-After"] = str(form.retry_after)
        return response


class SignInCodeView(SignInView):
    """The second page, for users with a second factor. Only this one opens a session that gives access."""

    template_name = "accounts/sign_in_code.html"

    def get_form_class(self) -> Any:
        return RecoveryCodeForm if self._with_recovery_code else SignInCodeForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, with_recovery_code=self._with_recovery_code)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if pending_sign_in.find_user(request) is None:
            return redirect(_with_next(reverse("accounts:sign-in"), self.get_redirect_url()))
        return super().get(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        if self._with_recovery_code:
            left = form.user.recovery_codes.count()
            messages.warning(
                self.request, f"Recovery codes left: {left}. Make new ones in the settings before they run out."
            )
        return self.complete_sign_in(form)

    @property
    def _with_recovery_code(self) -> bool:
        return "recovery" in self.request.GET


class SignOutView(auth_views.LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if isinstance(request.user, User):
            end_page_tokens(user=request.user)
            audit.record("signed_out", user=request.user.pk, of="dashboard")
        return super().post(request, *args, **kwargs)


@for_signed_in
def show_settings(request: SignedInRequest) -> HttpResponse:
    return _settings_page(request)


@sensitive_post_parameters()
@settings_form
def change_own_password(request: SignedInRequest) -> HttpResponse:
    form = ChangePasswordForm(request.user, client_address(request), request.POST)
    if not form.is_valid() or not form.save(request.session):
        return _settings_page(request, password_form=form)
    update_session_auth_hash(request, request.user)
    messages.success(request, "Your password is changed. All other sessions are signed out.")
    return redirect("accounts:settings")


@settings_form
@sensitive_variables("key")
def make_key(request: SignedInRequest) -> HttpResponse:
    """Shows the key without a redirect: that would have to store the key until the next request."""
    form = NewKeyForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, key_form=form)
    try:
        row, key = issue_api_key(
            user=request.user,
            session=request.session,
            key_id=form.cleaned_data["id"],
            name=form.cleaned_data["name"],
            scope=Scope(form.cleaned_data["scope"]),
            lifetime_days=form.cleaned_data["lifetime"],
        )
    except KeyExistsError as error:
        messages.info(request, str(error))
        return redirect("accounts:settings")
    except KeyLimitReachedError as error:
        form.add_error(None, str(error))
        return _settings_page(request, key_form=form)
    return _settings_page(request, new_key=key, new_row=row)


@for_signed_in
def revoke_key(request: SignedInRequest, key_id: UUID) -> HttpResponse:
    key = ApiKey.objects.unrevoked().filter(user=request.user, pk=key_id).first()
    if key is None:
        raise Http404("There is no such API key.")
    if request.method != "POST":
        return render(request, "accounts/revoke_key.html", {"key": key})
    try:
        revoke_api_key(key_id=key.pk, owner=request.user, by=request.user)
    except UnknownKeyError as error:  # revoked since it was looked up
        raise Http404(str(error)) from None
    messages.success(request, f"The key “{key.name}” is revoked.")
    return redirect("accounts:settings")


@for_signed_in
@sensitive_variables("key")
def rotate_key(request: SignedInRequest, key_id: UUID) -> HttpResponse:
    """Asks first, and then shows the new key as `make_key` does."""
    old = ApiKey.objects.live().lasting().filter(user=request.user, pk=key_id).first()
    if old is None:
        raise Http404("There is no such API key.")
    if request.method != "POST":
        return render(request, "accounts/rotate_key.html", {"key": old})
    try:
        row, key = rotate_api_key(user=request.user, session=request.session, key_id=old.pk)
    except UnknownKeyError as error:  # revoked since it was looked up
        raise Http404(str(error)) from None
    except KeyLimitReachedError as error:
        return render(request, "accounts/rotate_key.html", {"key": old, "error": error}, status=403)
    return _settings_page(request, new_key=key, new_row=row)


@settings_form
def end_all_sessions(request: SignedInRequest) -> HttpResponse:
    sign_out_everywhere(user=request.user)
    logout(cast("HttpRequest", request))
    messages.success(request, "All your sessions are signed out.")
    return redirect("accounts:sign-in")


def _settings_page(request: SignedInRequest, **context: Any) -> HttpResponse:
    page = {
        "password_form": ChangePasswordForm(request.user, client_address(request)),
        "key_form": NewKeyForm(),
        "keys": ApiKey.objects.unrevoked().filter(user=request.user),
        "second_factor": SecondFactor.objects.filter(user=request.user).first(),
        "recovery_codes_left": request.user.recovery_codes.count(),
        **context,
    }
    return render(request, "accounts/settings.html", page)


def _with_next(path: str, target: str) -> str:
    """Adds the page to show after signing in. The caller has checked that it is on this site."""
    return f"{path}?{urlencode({REDIRECT_FIELD_NAME: target})}" if target else path
