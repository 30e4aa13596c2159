"""How a request is judged: by its body, and by what the engine knows of what it names."""

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


async def unless_missing(asked: Awaitable[object]) -> None:
    try:
        await asked
    except AnsweredError as error:
        if error.status != 404:
            raise


def read_filters(request: Request) -> dict[str, object]:
    """By which a list is asked for. Empty where they cannot be read."""
    try:
        filters = bodies.read(request.params.get("filters", "").encode())
    except ValueError:
        filters = None
    return filters if isinstance(filters, dict) else {}


def texts(value: object) -> list[str]:
    """Those of a list that holds nothing else."""
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else []


def put_id(request: Request, identity: str) -> None:
    """In place of the name, which stands behind the version and what it is the name of."""
    parts = request.path.split("/")
    parts[3] = identity
    request.path = "/".join(parts)


def as_bytes(body: object) -> bytes:
    """The body as it was judged, written anew."""
    return json.dumps(body).encode()
