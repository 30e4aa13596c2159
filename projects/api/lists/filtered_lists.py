"""The list with filters, another order, or more fields.

It reads a few columns of all of the owner's rows with one query, and remembers nothing for the next poll.
"""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.utils.urls import replace_query_param

from accounts.api.etags import answer_with_etag
from accounts.api.parameters import Parameter, ParameterError, ParameterValues
from accounts.http import AuthenticatedRequest
from projects.api.fast_json import render_list, render_with
from projects.api.lists.pagination import CURSOR, LIMIT, MAX_LIMIT
from projects.api.parameters import choice, refuse_parameter, words
from projects.models import Project
from projects.models.rows.project import OwnRows, ProjectRow
from projects.models.rows.snapshot import Snapshot
from projects.rules.status.statuses import Status
from projects.services.lists.selection import (
    LONGEST_TEXT,
    NEWEST_FIRST,
    SORTS,
    TROUBLE_FIRST,
    Known,
    select,
    with_statuses,
)
from projects.services.lists.sorted_pages import Position, cut_page
from projects.services.observation import refresh_rows


def _read_text(raw: str) -> str:
    if len(raw) > LONGEST_TEXT:
        raise ParameterError(f"Set q to at most {LONGEST_TEXT} characters.")
    return raw.strip().casefold()


STATUS = words("status", Status.values, description="Only projects with these statuses, separated by commas.")
TEXT = Parameter(
    name="q",
    schema={"type": "string", "maxLength": LONGEST_TEXT},
    read=_read_text,
    default="",
    description="Only projects with this text in their name, id or bot's name, ignoring case.",
)
SORT = choice(
    "sort",
    *(sort for sort in SORTS if sort != TROUBLE_FIRST),
    description="The order; a minus reverses it. `status` begins with projects in trouble.",
)
INCLUDE = words("include", ["status_reason", "bot"], description="Further fields of each project, as in its detail.")
PARAMETERS = (STATUS, TEXT, SORT, INCLUDE, LIMIT, CURSOR)

_SECRET = ("telegram_token_ciphertext", "api_key_ciphertext")


def is_queried(values: ParameterValues) -> bool:
    """Returns whether the request asks for anything but pages of the usual list."""
    return bool(values[STATUS] or values[TEXT] or values[INCLUDE]) or values[SORT] != NEWEST_FIRST


def answer_query(request: AuthenticatedRequest, values: ParameterValues) -> HttpResponse:
    owner = request.user.pk
    position = _read_position(values)
    selection = select(
        with_statuses(refresh_rows(OwnRows(owner)[:])),
        statuses=values[STATUS],
        text=values[TEXT],
        sort=values[SORT],
        read_bots=lambda: dict(Project.objects.filter(owner_id=owner).values_list("pk", "bot_username")),
    )
    page = cut_page(selection.chosen, sort=values[SORT], position=position, size=_page_size(values))
    url = request.build_absolute_uri()
    links = [f'<{replace_query_param(url, "cursor", to.spell())}>; rel="{name}"' for name, to in page.others]
    headers = {"Link": ", ".join(links)} if links else {}
    return answer_with_etag(request, _render(page.rows, owner, values[INCLUDE]), of=owner.bytes, headers=headers)


def _read_position(values: ParameterValues) -> Position | None:
    cursor = values[CURSOR]
    if cursor is None:
        return None
    position = Position.read(cursor)
    if position is None or position.sort != values[SORT]:
        refuse_parameter("cursor", "Take the cursor from the Link header of the page before, with the same sort.")
    return position


def _page_size(values: ParameterValues) -> int | None:
    return values[LIMIT] or (MAX_LIMIT if values[CURSOR] is not None else None)


def _render(known: Sequence[Known[ProjectRow | Project]], owner: UUID, include: tuple[str, ...]) -> bytes:
    if not include:
        return render_list((each.row, each.facts) for each in known)
    rows = Project.objects.filter(owner_id=owner, pk__in=[each.row.id for each in known])
    whole = rows.select_related("owner", "plan", "agent_type").defer(*_SECRET).in_bulk()
    found = [
        (each.row if isinstance(each.row, Project) else whole.get(each.row.id), each.facts) for each in known
    ]  # leaves out projects deleted meanwhile
    return render_with((Snapshot(project=project, facts=facts) for project, facts in found if project), include)
