"""Helpers for checking a request."""

import json
from collections.abc import Awaitable

from containers.socket_proxy import bodies
from containers.socket_proxy.engine import AnsweredError
from containers.socket_proxy.requests import RefusedError, Request
from containers.socket_proxy.shapes import Check


def require(check: Check, body: object) -> None:
    wrong = check(body)
    if wrong is not None:
        raise RefusedError(f"Berth does not ask for this: {wrong.lstrip('.')[:200] or 'the body'}.")


async def unless_missing(check: Awaitable[object]) -> None:
    try:
        await check
    except AnsweredError as error:
        if error.status != 404:
            raise


def read_filters(request: Request) -> dict[str, object]:
    """Returns the filters of a list request, or an empty dict if they are not valid."""
    try:
        filters = bodies.read(request.params.get("filters", "").encode())
    except ValueError:
        filters = None
    return filters if isinstance(filters, dict) else {}


def texts(value: object) -> list[str]:
    """Returns the list if it contains only texts, or an empty list."""
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else []


def put_id(request: Request, identity: str) -> None:
    """Replaces the name in the path, which follows the version and the kind of object."""
    parts = request.path.split("/")
    parts[3] = identity
    request.path = "/".join(parts)


def as_bytes(body: object) -> bytes:
    """Returns the checked body, serialised again."""
    return json.dumps(body).encode()
