"""The page on which people sign up."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.dashboard.forms.account import SignUpForm
from accounts.errors import TooManyAttemptsError
from accounts.services.sign_up import send_sign_up_link


def sign_up(request: HttpRequest) -> HttpResponse:
    if settings.BERTH_SIGNUP != "open":
        raise Http404("Sign-up is closed.")
    form = SignUpForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render(request, "accounts/sign_up.html", {"form": form})
    try:
        send_sign_up_link(request, email=form.cleaned_data["email"])
    except TooManyAttemptsError as error:
        form.add_error(None, str(error))
        response = render(request, "accounts/sign_up.html", {"form": form}, status=429)
        response["Retry-After"] = str(error.retry_after)
        return response
    return render(request, "accounts/sign_up_sent.html", {"email": form.cleaned_data["email"]})
