"""The pages for signing in and out, and the settings page with the password and all sessions."""

from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.contrib.auth import views as auth_views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts import audit, clock
from accounts.dashboard.decorators import for_signed_in, settings_form
from accounts.dashboard.forms.account import ChangePasswordForm, SignInForm
from accounts.dashboard.forms.second_factor import RecoveryCodeForm, SignInCodeForm
from accounts.dashboard.session import pending_sign_in, unsent_forms
from accounts.dashboard.session.keep_session import keep_session
from accounts.dashboard.session.next_page import can_follow
from accounts.dashboard.views.settings_page import show_settings_page
from accounts.http import SignedInRequest, client_address, client_program
from accounts.services.open_sessions import note_dashboard_session
from accounts.services.second_factor import has_second_factor
from accounts.services.sign_in import sign_out, sign_out_everywhere


class SignInView(auth_views.LoginView):
    template_name = "accounts/sign_in.html"
    form_class = SignInForm  # type: ignore[assignment]  # Django's form has a username
    redirect_authenticated_user = True
    extra_context = {"sign_up_is_open": settings.BERTH_SIGNUP == "open"}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = super().dispatch(request, *args, **kwargs)
        if request.user.is_authenticated and self._has_unsent_form:
            messages.warning(request, "What you sent before you signed in was not carried out. Send it again.")
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, has_unsent_form=self._has_unsent_form)

    def get_redirect_url(self) -> str:  # type: ignore[override]  # Django's own has no parameter either
        target: str = super().get_redirect_url()
        return target if can_follow(target) else ""

    def get_success_url(self) -> str:
        return super().get_success_url().removesuffix(unsent_forms.MARK)

    @property
    def _has_unsent_form(self) -> bool:
        return self.get_redirect_url().endswith(unsent_forms.MARK)

    def form_valid(self, form: Any) -> HttpResponse:
        if has_second_factor(form.user):
            pending_sign_in.begin(self.request, form.user)
            return redirect(_with_next(reverse("accounts:sign-in-code"), self.get_redirect_url()))
        return self.complete_sign_in(form)

    def complete_sign_in(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        # A point in time, because a duration would start again with every change to the session.
        self.request.session.set_expiry(clock.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))
        note_dashboard_session(
            user=form.user,
            session=self.request.session,
            address=form.address,
            program=client_program(self.request),
        )
        audit.record("signed_in", user=form.user.pk, to="dashboard", address=form.address or "unknown")
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.retry_after is not None:
            response.status_code = 429
            response["Retry-After"] = str(form.retry_after)
        return response


class SignInCodeView(SignInView):
    """The second page of the sign-in, for users with a second factor. Only it opens a session that gives access."""

    template_name = "accounts/sign_in_code.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Sends users back whose second factor the staff have reset meanwhile: no code is right any more.

        A POST gets there by a GET, because a code is no form to be sent again (`unsent_forms`).
        """
        user = pending_sign_in.find_user(request)
        if user is not None and not has_second_factor(user):
            if request.method == "POST":
                return redirect(_with_next(reverse("accounts:sign-in-code"), self.get_redirect_url()))
            messages.warning(request, "Your second factor was reset meanwhile. Sign in again.")
            return redirect(_with_next(reverse("accounts:sign-in"), self.get_redirect_url()))
        return super().dispatch(request, *args, **kwargs)

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
            advice = "before they run out" if left else "now: this was the last one"
            messages.warning(self.request, f"Recovery codes left: {left}. Make new ones in the settings {advice}.")
        return self.complete_sign_in(form)

    @property
    def _with_recovery_code(self) -> bool:
        return "recovery" in self.request.GET


@require_POST
def sign_out_here(request: HttpRequest) -> HttpResponse:
    sign_out(request=request)
    return redirect("accounts:sign-in")


@for_signed_in
def show_settings(request: SignedInRequest) -> HttpResponse:
    return show_settings_page(request)


@sensitive_post_parameters()
@settings_form
def change_own_password(request: SignedInRequest) -> HttpResponse:
    form = ChangePasswordForm(request.user, client_address(request), request.POST)
    if not form.is_valid() or not form.save(request.session):
        return show_settings_page(request, form)
    keep_session(request)
    messages.success(request, "Your password is changed. All other sessions are signed out.")
    return redirect("accounts:settings")


@settings_form
def end_all_sessions(request: SignedInRequest) -> HttpResponse:
    sign_out_everywhere(user=request.user)
    logout(cast("HttpRequest", request))
    messages.success(request, "All your sessions are signed out.")
    return redirect("accounts:sign-in")


def _with_next(path: str, target: str) -> str:
    """Adds the page to show after signing in. The caller has checked that it belongs to this site."""
    return f"{path}?{urlencode({REDIRECT_FIELD_NAME: target})}" if target else path
