"""The answer to a list, and 304 to whoever has it already.

Most polls are answered without reading the list: its rows have not changed, and the time that passed says nothing. A
status follows from the row, the watcher's heartbeat and the clock, and while a watcher is alive, the rows of most lists
say the same at any time (`Steadiness`); the others are read. Each process remembers the lists of those who poll.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.http import HttpResponse

from accounts import clock
from accounts.api.etags import answer_with_etag, has_etag, not_modified
from accounts.http import AuthenticatedRequest
from accounts.moments import is_recent
from projects.api.fast_json import render_list
from projects.models.project_row import ProjectRow
from projects.models.row_facts import is_watch_alive
from projects.models.row_versions import RowVersions, read_row_versions
from projects.models.steadiness import Steadiness, find_steadiness
from projects.rules.lifecycle import FRESH_FOR
from projects.services.observation import ANSWERING, refresh_rows

REMEMBERED = 5000
"""Lists of one process: about a kilobyte each."""

Page = tuple[Sequence[ProjectRow], dict[str, str]]


class _Told(NamedTuple):
    etag: str
    headers: dict[str, str]
    versions: RowVersions
    steadiness: Steadiness

    def holds(self, current: RowVersions, now: datetime) -> bool:
        """Whether reading the rows now would give the same bytes, and nobody would ask the engine."""
        beat = current.heartbeat_at
        return (
            current.rows == self.versions.rows
            and beat is not None
            and self.steadiness.holds(beat, now)
            and is_recent(beat, within=FRESH_FOR - ANSWERING, now=now)
            and is_watch_alive(current.watched_until, now)
        )


_told: dict[tuple[object, str], _Told] = {}


class PolledList:
    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        self._key = (request.user.pk, request.build_absolute_uri())
        # Both are of before the rows are read, so that a change in between is not missed.
        self._began = clock.now()
        self._versions = read_row_versions(request.user.pk) if "HTTP_IF_NONE_MATCH" in request.META else None

    def answer(self, read_page: Callable[[], Page]) -> HttpResponse:
        told = _told.get(self._key)
        if told and self._versions and has_etag(self._request, told.etag) and told.holds(self._versions, self._began):
            return not_modified(told.etag, headers=told.headers)
        rows, headers = read_page()
        body = render_list(refresh_rows(rows))
        answer = answer_with_etag(self._request, body, of=self._request.user.pk.bytes, headers=headers)
        self._remember(rows, answer["ETag"], headers)
        return answer

    def _remember(self, rows: Sequence[ProjectRow], etag: str, headers: dict[str, str]) -> None:
        versions, steadiness = self._versions, find_steadiness(rows)
        if versions is None or versions.elsewhere or steadiness is None:
            _told.pop(self._key, None)
            return
        told = _Told(etag, headers, versions, steadiness)
        # At both moments, and so at the one in between at which the statuses were derived.
        if told.holds(versions, self._began) and told.holds(versions, clock.now()):
            if len(_told) >= REMEMBERED:
                _told.clear()
            _told[self._key] = told
