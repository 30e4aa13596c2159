"""Downloads of pages, which are sent in pieces, and what a long answer of a page checks while it runs."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

from django.http import StreamingHttpResponse
from rest_framework.exceptions import AuthenticationFailed

from accounts.dashboard.session.still_signed_in import is_still_in
from accounts.errors import InvalidTokenError
from accounts.http import SignedInRequest
from accounts.services import still_signed_in
from projects.api.streams.long_requests import acquire_lease, renew
from projects.api.streams.revalidation import check_project_of, release_connection
from projects.models import Project
from projects.services.bulkheads import STREAMS

RENEW_EVERY = 15.0
"""Seconds between renewals. A lease lasts longer than this plus the time that a client may take for a piece."""

WITHIN = 900.0
"""Seconds for a whole download, because a slow client keeps a place from others."""

Pieces = Generator[bytes, None, None]


class SessionRevalidation:
    """What a stream checks while it runs: that the session is still valid and the project still its owner's."""

    def __init__(self, request: SignedInRequest) -> None:
        self._request = request
        self._user = request.user
        self._put_off()

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._again_at

    def check_token(self) -> None:
        """Raises `AuthenticationFailed` if the session has ended or has another user now."""
        self._put_off()
        if not is_still_in(self._request, self._user):
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token")

    def check_project(self, project: Project) -> None:
        """Raises `ProjectGoneError` or `ProjectSuspendedError` if the stream must end."""
        check_project_of(self._user, project)

    def _put_off(self) -> None:
        self._again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER


class _DownloadResponse(StreamingHttpResponse):
    has_own_thread = True
    """An attribute that the web server checks."""


def send_download(
    request: SignedInRequest, begin: Callable[[], Pieces], *, name: str, content_type: str
) -> StreamingHttpResponse:
    """Returns the pieces of a file as an answer. Raises `TooManyStreamsError`, and what `begin` raises."""
    response = _DownloadResponse(_Download(request, begin), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


class _Download:
    """Holds a place for streams until everything is sent, but no database connection between pieces.

    If the session ends meanwhile or the client is too slow, it raises `ConnectionAbortedError`, which the web server
    treats like a client that has left. So the file and the response are visibly incomplete.
    """

    def __init__(self, request: SignedInRequest, begin: Callable[[], Pieces]) -> None:
        with ExitStack() as stack:
            self._lease = stack.enter_context(acquire_lease(request.user, STREAMS))
            self._pieces = begin()
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
