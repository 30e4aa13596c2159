"""The pages for a whole account: exporting its data, and deleting it."""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import cast

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from rest_framework.exceptions import AuthenticationFailed

from accounts.dashboard.decorators import for_signed_in, settings_form
from accounts.dashboard.forms.second_factor import PasswordAndAnyCodeForm
from accounts.http import SignedInRequest, client_address
from projects.api.streams.long_requests import acquire_lease, renew
from projects.api.streams.revalidation import release_connection
from projects.dashboard.own_projects import actor
from projects.dashboard.views.logs import SessionRevalidation
from projects.errors import AccountKeptError, TooManyExportsError, TooManyStreamsError
from projects.models import Project
from projects.services.account.deletion import check_may_go, delete_account
from projects.services.account.export import start_export
from projects.services.bulkheads import STREAMS

RENEW_EVERY = 15.0
"""Seconds between renewals. A lease lasts longer than this plus the time that a client may take for a piece."""

WITHIN = 900.0
"""Seconds for a whole download, because a slow client keeps a place from others."""


@settings_form  # type: ignore[arg-type]  # a stream is not an HttpResponse, which the decorator does not need
def export_data(request: SignedInRequest) -> HttpResponseBase:
    try:
        download = _Download(request)
    except (TooManyExportsError, TooManyStreamsError) as error:
        messages.error(request, str(error))
        return redirect("accounts:settings")
    response = _DownloadResponse(download, content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="berth-account.zip"'
    response["Cache-Control"] = "no-store"
    return response


class _DownloadResponse(StreamingHttpResponse):
    has_own_thread = True
    """An attribute that the web server checks."""


class _Download:
    """Holds a place for streams until everything is sent, but no database connection between pieces.

    If the session ends meanwhile or the client is too slow, it raises `ConnectionAbortedError`, which the web server
    treats like a client that has left. So the archive and the response are visibly incomplete.
    """

    def __init__(self, request: SignedInRequest) -> None:
        with ExitStack() as stack:
            self._lease = stack.enter_context(acquire_lease(request.user, STREAMS))
            self._pieces: Generator[bytes, None, None] = start_export(user=request.user)
            stack.callback(self._pieces.close)
            self._held = stack.pop_all()
        self._revalidation = SessionRevalidation(request)
        now = time.monotonic()
        self._renew_at, self._until = now + RENEW_EVERY, now + WITHIN

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self._check()
        piece = next(self._pieces)
        release_connection()
        return piece

    def _check(self) -> None:
        now = time.monotonic()
        if now >= self._until:
            raise ConnectionAbortedError("The download took too long.")
        try:
            if self._revalidation.is_due:
                self._revalidation.check_token()
        except AuthenticationFailed:
            raise ConnectionAbortedError("The session has been ended.") from None
        if now >= self._renew_at:
            renew(self._lease)
            self._renew_at = now + RENEW_EVERY

    def close(self) -> None:
        """Django calls it at the end of every request."""
        self._held.close()


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
