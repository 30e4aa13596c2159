"""Shortcuts past the REST framework for the list and for one project, as in `accounts.api.shortcuts`."""

import re
from functools import lru_cache
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from accounts.api.authentication import hand_over
from accounts.api.etags import answer_with_etag
from accounts.api.shortcuts import authenticate, may_read
from accounts.api.token_query import TokenQuery
from accounts.models import User
from projects.api.fast_json import render_detail
from projects.api.lists import conditional_lists
from projects.api.lists.pagination import MAX_LIMIT
from projects.api.viewsets.own_projects import read_id
from projects.models.rows.project import SHOWN, find_to_show, make_shown
from projects.models.rows.snapshot import take_snapshot
from projects.models.rows.versions import COLUMNS, are_numbered, make_row_versions, with_row_versions
from projects.services.observation import is_fresh

_FIRST_PAGE = re.compile("limit=([1-9][0-9]{0,2})", re.ASCII)
_USER_AND_PROJECT = TokenQuery(find_to_show, *SHOWN, user="owner__", samples=[UUID(int=2)])


@lru_cache(maxsize=MAX_LIMIT + 2)  # one for each page size, and one for the whole list
def _user_and_versions(newest: int | None) -> TokenQuery:
    return TokenQuery(lambda: with_row_versions(User.objects.all(), newest=newest), *COLUMNS)


def _find_rows(query: str) -> int | None:
    """Returns how many rows decide what the list shows: those of the first page, and one more that shows whether there
    are further ones. Returns None for all of the owner's rows.
    """
    found = _FIRST_PAGE.fullmatch(query)
    limit = int(found[1]) if found else MAX_LIMIT + 1
    return limit + 1 if limit <= MAX_LIMIT else None


def list_shortcut(request: HttpRequest) -> HttpResponse | None:
    """Answers with a remembered list if it has not changed since. Otherwise returns None."""
    if not are_numbered():
        return None
    found = authenticate(request, _user_and_versions(_find_rows(request.META.get("QUERY_STRING", ""))))
    if found is None or not may_read(request, found):
        return None
    user, credential, columns = found
    versions = make_row_versions(columns)
    answer = conditional_lists.answer_from_memory(request, user, versions) if versions else None
    if answer is None:
        hand_over(request, user, credential)
        conditional_lists.hand_over(request, versions)
    return answer


def detail_shortcut(request: HttpRequest, **path: str) -> HttpResponse | None:
    """Answers if the row alone is enough for the status. Otherwise returns None."""
    try:
        project_id = read_id(path["id"])
    except Http404:
        return None
    found = None if request.META.get("QUERY_STRING") else authenticate(request, _USER_AND_PROJECT, project_id)
    if found is None or not may_read(request, found):
        return None
    user, credential, columns = found
    snapshot = take_snapshot(make_shown(user, columns))
    if not is_fresh(snapshot.facts):
        hand_over(request, user, credential)
        return None
    return answer_with_etag(request, render_detail(snapshot), of=user.pk.bytes)
