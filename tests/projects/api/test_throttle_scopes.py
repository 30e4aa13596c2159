"""The limit against which each method of each route of /api counts. The routes come from the URL resolver."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, path
from pytest_django import Settings
from rest_framework.test import APIClient

from projects.api.viewsets.projects import ProjectViewSet
from tests.settings import REAL_LIMITS

pytestmark = pytest.mark.one_database

SAFE = ("GET", "HEAD", "OPTIONS")
METHODS = (*SAFE, "POST", "PUT", "PATCH", "DELETE")
DEPLOYS = {("POST", "api/projects"), ("POST", "api/projects/validate")}
NOT_COUNTED = {"api/auth/login", "api/auth/session", "api/auth/logout", "api/schema", "api/docs"}


def _routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif route.startswith("api/"):
            yield route, pattern.callback


ROUTES = dict(_routes(get_resolver().url_patterns))
COUNTED = sorted(ROUTES.keys() - NOT_COUNTED)


def _expected_policy(method: str, route: str) -> str | None:
    if route in NOT_COUNTED:
        return None
    if method in SAFE:
        return '"reads";q=600;w=60'
    return '"deploys";q=20;w=60' if (method, route) in DEPLOYS else '"commands";q=60;w=60'


def test_the_routes_are_found() -> None:
    assert len(COUNTED) >= 12
    assert ROUTES.keys() >= NOT_COUNTED | {route for _, route in DEPLOYS}


@pytest.mark.parametrize("route", COUNTED)
def test_every_counted_view_names_its_scope(route: str) -> None:
    assert hasattr(ROUTES[route].cls, "throttle_scope")


@pytest.mark.parametrize("route", sorted(ROUTES))
@pytest.mark.parametrize("method", METHODS)
def test_each_method_counts_against_its_scope(api: APIClient, settings: Settings, method: str, route: str) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS
    address = "/" + re.sub(r"<[^>]+>", str(UUID(int=0)), route)

    assert api.generic(method, address, "{}").get("RateLimit-Policy") == _expected_policy(method, route)


# For the test below: the same views under other names.
urlpatterns = [
    path("api/renamed/create", ProjectViewSet.as_view({"post": "create"}), name="renamed-create"),
    path("api/renamed/validate", ProjectViewSet.as_view({"post": "validate"}), name="renamed-validate"),
]


@pytest.mark.parametrize("action", ["create", "validate"])
def test_the_name_of_the_route_does_not_matter(api: APIClient, settings: Settings, action: str) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS
    settings.ROOT_URLCONF = __name__

    assert api.post(f"/api/renamed/{action}", {})["RateLimit-Policy"] == '"deploys";q=20;w=60'
