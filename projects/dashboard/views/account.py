"""What somebody may do with the whole account: take all its data along, and have it deleted."""

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
from accounts.dashboard.second_factor_forms import PasswordAndAnyCodeForm
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
"""Seconds. A lease lasts longer than that, and than a client may keep a piece waiting."""

WITHIN = 900.0
"""Seconds for all of a download. A client that takes it more slowly keeps a place from others."""


@settings_form  # type: ignore[arg-type]  # a stream is no HttpResponse, and the decorator needs none
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
    """The web server looks for it."""


class _Download:
    """Holds one of the places of streams until all of it is made, and no database connection in between.

    It breaks off, and so is no whole archive and no whole answer, where the session is ended meanwhile or the client
    takes it too slowly: `ConnectionAbortedError` is for the web server what a client is that has left.
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
            "Your account is closed: nobody can sign in to it any more. Your agents are being removed, and the account "
            "is gone when the engine has confirmed it.",
        )
    return redirect("accounts:sign-in")
