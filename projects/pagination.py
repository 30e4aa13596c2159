"""Pages of a list whose body stays a plain array: the next page is in the `Link` header."""

from typing import Any

from rest_framework import serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

MAX_LIMIT = 200


class LinkPagination(CursorPagination):
    """Only with `?limit=`; without it the list is all there is."""

    ordering = ("-created_at", "-id")
    page_size = MAX_LIMIT
    cursor_query_param = "cursor"
    invalid_cursor_message = "This cursor is not one of ours. Take it from the Link header of the page before."

    def get_page_size(self, request: Request) -> int | None:
        raw = request.query_params.get("limit")
        if raw is None:
            if self.cursor_query_param in request.query_params:
                return self.page_size
            return None
        if not (raw.isascii() and raw.isdecimal() and 1 <= int(raw[:9]) <= MAX_LIMIT):
            message = f"Set limit to a whole number from 1 to {MAX_LIMIT}."
            raise serializers.ValidationError({"limit": [serializers.ErrorDetail(message, code="invalid")]})
        return int(raw)

    def get_paginated_response(self, data: Any) -> Response:
        links = [
            f'<{link}>; rel="{name}"'
            for name, link in (("next", self.get_next_link()), ("prev", self.get_previous_link()))
            if link
        ]
        return Response(data, headers={"Link": ", ".join(links)} if links else {})

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
