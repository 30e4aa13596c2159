"""Pages of a list whose body stays a plain array: the next page is in the `Link` header."""

from datetime import UTC
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from accounts.api.parameters import Parameter, ParameterError
from projects.api.parameters import number, refuse_parameter
from projects.services.lists.sorted_pages import Position

MAX_LIMIT = 200
WRONG_CURSOR = "Take the cursor from the Link header of the page before."

LIMIT: Parameter[int | None] = Parameter(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
    read=number(low=1, high=MAX_LIMIT, otherwise=f"Set limit to a whole number from 1 to {MAX_LIMIT}."),
    default=None,
    description="How many projects a page holds. Without it the list is all of them.",
)


class LinkPagination(CursorPagination):
    """Pages a list if the request has a limit or a cursor, which `LIMIT` and `CURSOR` have already checked."""

    ordering = ("-created_at", "-id")
    page_size = MAX_LIMIT
    cursor_query_param = "cursor"
    base_url = ""

    def get_page_size(self, request: Request) -> int:
        return int(request.query_params.get("limit", self.page_size))

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Decodes a cursor. Refuses that of a list in another order, which `read_cursor` accepts as well-formed."""
        raw = request.query_params.get(self.cursor_query_param)
        if raw is not None and Position.read(raw) is not None:
            refuse_parameter(self.cursor_query_param, WRONG_CURSOR)
        return super().decode_cursor(request)

    def read_cursor(self, raw: str) -> str:
        """Checks and returns a cursor. Raises `ParameterError` if it is not one of ours.

        The base class is not enough: it answers 404 to an unreadable cursor, accepts any text as a position, and also
        decodes other spellings.
        """
        if Position.read(raw) is not None:
            return raw  # for a list in another order
        try:
            request = SimpleNamespace(query_params={self.cursor_query_param: raw})
            cursor = self.decode_cursor(cast(Request, request))
        except NotFound:
            cursor = None
        if not (raw and cursor and _is_moment(cursor.position) and self._spell(cursor) == raw):
            raise ParameterError(WRONG_CURSOR)
        return raw

    def _spell(self, cursor: Cursor) -> str:
        """Returns the cursor as our links spell it."""
        return QueryDict(urlsplit(self.encode_cursor(cursor)).query)[self.cursor_query_param]

    def get_headers(self) -> dict[str, str]:
        """Returns the `Link` header of the page that was read, if there are others."""
        links = [
            f'<{link}>; rel="{name}"'
            for name, link in (("next", self.get_next_link()), ("prev", self.get_previous_link()))
            if link
        ]
        return {"Link": ", ".join(links)} if links else {}


def _is_moment(position: Any) -> bool:
    """Returns whether the position is a time of creation, as in all of our cursors, or None for the first page."""
    if position is None:
        return True
    try:
        moment = parse_datetime(position)
        return moment is not None and moment.tzinfo is not None and bool(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return False


CURSOR: Parameter[str | None] = Parameter(
    name="cursor",
    schema={"type": "string"},
    read=lambda raw: LinkPagination().read_cursor(raw),
    default=None,
    description="Where the page begins: taken from the Link header of the page before.",
)
