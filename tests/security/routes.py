"""Every route of the service, from its URL configuration, and addresses that lead to each."""

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


def every_route() -> list[str]:
    """Returns routes such as `/projects/<uuid:project_id>/control`, sorted."""
    return sorted(set(_walk(get_resolver().url_patterns, "/")))


def page_routes() -> list[str]:
    """Returns all routes except the API's: those that browsers visit with a cookie."""
    return [route for route in every_route() if not route.startswith("/api/")]


def address_of(route: str, known: dict[str, Any]) -> str:
    """Returns an address that leads there. Parameters have the values in `known`, or are made up."""
    model = re.match(r"/admin/(\w+)/(\w+)/", route)
    values = dict(known)
    if model and "object_id" in route:
        first = apps.get_model(model[1], model[2])._default_manager.first()
        values["object_id"] = first.pk if first else "nothing"
    filled = _PARAMETER.sub(lambda found: str(values.get(found[1] or found[2], "made-up")), route)
    return filled.rstrip("$")


def _walk(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern).removeprefix("^")
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        else:
            yield path
