"""Gives the page that describes the API a token, because /api accepts no cookie."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.dashboard.decorators import for_signed_in
from accounts.http import SignedInRequest
from accounts.services.page_tokens import issue_page_token


@require_http_methods(["GET", "HEAD", "POST"])
def token_for_docs(request: HttpRequest) -> HttpResponse:
    """Shows who is signed in and the form that creates the token. Creates the token if the form is sent."""
    if request.method == "POST":
        return _make_token(request)
    return render(request, "accounts/token_for_docs.html")


@for_signed_in
@sensitive_variables("token")
def _make_token(request: SignedInRequest) -> HttpResponse:
    row, token = issue_page_token(user=request.user, session=request.session)
    return JsonResponse({"token": token, "expires_at": row.expires_at})
