"""Answers polls of open pages if nothing is new, with one query and without the work of other page requests.

If users leave pages open, most requests are such polls. A poll is answered here only if its session and user are known
to be valid and the page is known to be up to date. All others go to the views, which give the same responses; tests
compare both.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.urls import resolve
from django.utils.cache import patch_vary_headers

from accounts import clock
from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.credentials.session_rows import SessionRows
from accounts.database.compiled_query import make_instance
from accounts.models import User
from accounts.services.still_signed_in import ASK_AGAIN_AFTER
from accounts.throttling.rate_limits import count_request
from projects.dashboard.content.list_cache import Memory, is_unchanged
from projects.dashboard.content.page_cache import answer_checked, find_checked, read_question
from projects.models.rows.change_marks import read_marks_in_session
from projects.models.rows.page_versions import read_page_versions_in_session
from projects.models.rows.versions import are_numbered

_PATH = re.compile(r"/projects/(?:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/)?changes")


class _LetIn(NamedTuple):
    """The user of a valid session, and its rows, or None if they were not read yet."""

    user_id: UUID
    by: SessionRows | None


_let_in: Memory[str, _LetIn] = Memory()
"""Known sessions by the digests of their keys."""


class PagePolls:
    """The middleware that answers polls before the middleware of pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        look = _begin(request)
        if look is None:
            return self.get_response(request)
        view_from = time.monotonic() + ASK_AGAIN_AFTER
        answer = look.answer()
        # If it took long, the session may have ended meanwhile, so the middleware of pages checks it again.
        if answer is not None and time.monotonic() < view_from:
            request.resolver_match = resolve(request.path_info)  # for counting requests by route
            patch_vary_headers(answer, ["Cookie"])
            return answer
        response = self.get_response(request)
        look.learn(response)
        return response


def _begin(request: HttpRequest) -> "_QuickLook | None":
    path = _PATH.fullmatch(request.path_info) if request.method == "GET" else None
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME) if path else None
    if path is None or not key or not are_numbered():
        return None
    return _QuickLook(request, digest_session_key(key), UUID(path[1]) if path[1] else None)


class _QuickLook:
    """One poll: of the list, or of the page of a project."""

    def __init__(self, request: HttpRequest, digest: str, project_id: UUID | None) -> None:
        self._request, self._digest, self._project_id = request, digest, project_id
        self._rows: SessionRows | None = None

    def answer(self) -> HttpResponse | None:
        """Returns the response, or None if everything must be read."""
        known = _let_in.get(self._digest)
        if known is None:
            return None
        try:
            answer = self._look(known, clock.now())
        except DatabaseError:
            return None  # the middleware of pages tries again and reports it
        return answer if answer is not None and self._is_allowed(known) else None

    def _look(self, known: _LetIn, now: datetime) -> HttpResponse | None:
        if self._project_id is None:
            found = read_marks_in_session(known.user_id, self._digest)
            if self._lets_in(known, found[0] if found else None, now) and found:
                key = (known.user_id, self._request.META.get("QUERY_STRING", ""))
                return HttpResponse(status=204) if is_unchanged(key, found[1], now) else None
            return None
        page = read_page_versions_in_session(known.user_id, self._project_id, self._digest)
        question = read_question(self._request)
        if not self._lets_in(known, page[0] if page else None, now) or page is None or question is None:
            return None
        checked_at = find_checked((known.user_id, self._project_id, question.run), page[1], now, question.seen)
        return answer_checked(checked_at) if checked_at else None

    def _lets_in(self, known: _LetIn, rows: SessionRows | None, now: datetime) -> bool:
        self._rows = rows
        return known.by is not None and rows is not None and rows.match(known.by, now)

    def _is_allowed(self, known: _LetIn) -> bool:
        """Counts the request like the middleware of pages. Returns whether it is within the limit."""
        user = make_instance(User, ("id",), (known.user_id,))
        state = count_request(self._request.META, user=user, scope="reads")
        return state is None or state.allowed

    def learn(self, response: HttpResponse) -> None:
        """Remembers the session's rows, which were read before the view checked it: while unchanged, it stays valid."""
        user = getattr(self._request, "user", None)
        if response.status_code not in {200, 204} or not isinstance(user, User):
            return
        # Whether the user has a second factor is in another row.
        if settings.BERTH_REQUIRE_STAFF_MFA and user.is_staff:
            return
        known = _let_in.get(self._digest)
        by = self._rows or known.by if known and known.user_id == user.pk else None
        _let_in.keep(self._digest, _LetIn(user.pk, by))
