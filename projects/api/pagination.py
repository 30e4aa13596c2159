"""Pages of a list whose body stays a plain array: the next page is in the `Link` header."""

from datetime import UTC
from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils.dateparse import parse_datetime
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

MAX_LIMIT = 200


class LinkPagination(CursorPagination):
    """Pages a list where the request has a limit or a cursor. Without them the list is complete."""

    ordering = ("-created_at", "-id")
    page_size = MAX_LIMIT
    cursor_query_param = "cursor"

    def get_page_size(self, request: Request) -> int | None:
        raw = request.query_params.get("limit")
        if raw is None:
            if self.cursor_query_param in request.query_params:
                return self.page_size
            return None
        if not (raw.isascii() and raw.isdecimal() and len(raw) < 10 and 1 <= int(raw) <= MAX_LIMIT):
            _refuse("limit", f"Set limit to a whole number from 1 to {MAX_LIMIT}.")
        return int(raw)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Refuses a cursor that is not ours with a 400.

        The base class answers 404 to what it cannot read, and accepts any text as a position.
        """
        raw = request.query_params.get(self.cursor_query_param)
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            cursor = None
        ours = raw and cursor and _is_moment(cursor.position) and self._spell(cursor) == raw
        if raw is not None and not ours:
            _refuse(self.cursor_query_param, "Take the cursor from the Link header of the page before.")
        return cursor

    def _spell(self, cursor: Cursor) -> str:
        """The cursor as our links spell it. The base class also decodes other spellings."""
        return QueryDict(urlsplit(self.encode_cursor(cursor)).query)[self.cursor_query_param]

    def get_headers(self) -> dict[str, str]:
        """Returns the `Link` header of the page that was read, if there are others."""
        links = [
            f'<{link}>; rel="{name}"'
            for name, link in (("next", self.get_next_link()), ("prev", self.get_previous_link()))
            if link
        ]
        return {"Link": ", ".join(links)} if links else {}

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return schema

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:  # noqa: ARG002 - DRF's signature
        return [
            {
                "name": "limit",
                "in": "query",
                "description": "How many projects a page holds. Without it the list is all of them.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "description": "Where the page begins: taken from the Link header of the page before.",
                "schema": {"type": "string"},
            },
        ]


def _is_moment(position: Any) -> bool:
    """Whether the position is a time of creation, which every cursor of ours holds, or None for the first page."""
    if position is None:
        return True
    try:
        moment = parse_datetime(position)
        return moment is not None and moment.tzinfo is not None and bool(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return False


def _refuse(field: str, message: str) -> NoReturn:
    raise serializers.ValidationError({field: [serializers.ErrorDetail(message, code="invalid")]})
