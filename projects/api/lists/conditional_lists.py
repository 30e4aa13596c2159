"""The response to a list, or 304 for a client that already has it.

Most polls are answered without reading the list, because its rows have not changed and the passed time does not matter:
a status follows from the row, the watcher's heartbeat and the clock, and while a watcher is alive, the statuses of most
lists do not depend on the time (`Steadiness`). Other lists are read. Each process remembers the lists of its clients.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from accounts import clock
from accounts.api.etags import answer_with_etag, has_etag, not_modified, send_with_etag
from accounts.http import AuthenticatedRequest
from accounts.models import User
from projects.api.fast_json import render_list
from projects.models.rows.change_marks import ResponseBasis
from projects.models.rows.project import ProjectRow
from projects.models.rows.steadiness import find_steadiness
from projects.models.rows.versions import RowVersions
from projects.services.observation import refresh_rows

REMEMBERED = 32 * 1024 * 1024
"""The maximum number of bytes of lists that one process remembers. A list of 50 projects has 7 kB."""

LARGEST = REMEMBERED // 16
"""The maximum number of bytes of one remembered list."""

_OVERHEAD = 1024
_VERSIONS = "berth.row_versions"
"""The key in a request's META for the value given to `hand_over`."""

Page = tuple[Sequence[ProjectRow], dict[str, str]]
Key = tuple[object, ...]


class _Answer(NamedTuple):
    body: bytes
    etag: str
    headers: dict[str, str]
    basis: ResponseBasis


class _Memory:
    """A memory that forgets everything if it grows too large, because lists in use soon come back."""

    def __init__(self) -> None:
        self._answers: dict[Key, _Answer] = {}
        self._lock = Lock()
        self._size = 0

    def get(self, key: Key) -> _Answer | None:
        return self._answers.get(key)

    def forget(self, key: Key) -> None:
        with self._lock:
            answer = self._answers.pop(key, None)
            self._size -= _size(answer) if answer else 0

    def keep(self, key: Key, answer: _Answer) -> None:
        self.forget(key)
        with self._lock:
            if self._size + _size(answer) > REMEMBERED:
                self._answers.clear()
                self._size = 0
            self._answers[key] = answer
            self._size += _size(answer)

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()
            self._size = 0


def _size(answer: _Answer) -> int:
    return len(answer.body) + _OVERHEAD


_memory = _Memory()


def hand_over(request: HttpRequest, versions: RowVersions | None) -> None:
    """Passes the versions that were just read to the view of this request."""
    request.META[_VERSIONS] = versions


def answer_from_memory(request: HttpRequest, user: User, versions: RowVersions) -> HttpResponse | None:
    """Returns a remembered response if it is still what reading the rows would give, else None."""
    answer = _memory.get(_key(request, user))
    if answer is None or not answer.basis.holds(versions, clock.now()):
        return None
    if has_etag(request, answer.etag):
        return not_modified(answer.etag, headers=answer.headers)
    return send_with_etag(answer.body, answer.etag, headers=answer.headers)


class PolledList:
    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        self._key = _key(request, request.user)
        # Both are from before the rows are read, so that no change in between is missed.
        self._began = clock.now()
        self._versions: RowVersions | None = request.META.pop(_VERSIONS, None)

    def answer(self, read_page: Callable[[], Page]) -> HttpResponse:
        rows, headers = read_page()
        body = render_list(refresh_rows(rows))
        answer = answer_with_etag(self._request, body, of=self._request.user.pk.bytes, headers=headers)
        self._remember(rows, body, answer["ETag"], headers)
        return answer

    def _remember(self, rows: Sequence[ProjectRow], body: bytes, etag: str, headers: dict[str, str]) -> None:
        versions, steadiness = self._versions, find_steadiness(rows)
        if versions is None or not versions.are_all_here or steadiness is None or len(body) > LARGEST:
            _memory.forget(self._key)
            return
        basis = ResponseBasis(versions, steadiness)
        # If it holds at both moments, it also held in between, when the statuses were derived.
        if basis.holds(versions, self._began) and basis.holds(versions, clock.now()):
            _memory.keep(self._key, _Answer(body, etag, headers, basis))


def _key(request: HttpRequest | Request, user: User) -> Key:
    """Returns the owner and the whole address, because links to other pages repeat it."""
    meta = request.META
    return user.pk, request.scheme, request.get_host(), meta.get("PATH_INFO"), meta.get("QUERY_STRING")
