"""Who may do what: every route of /api, its methods, and the status that each kind of caller gets."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver

from tests.canaries import CANARY_PASSWORD, CANARY_TELEGRAM_TOKEN
from tests.deploying import PROJECT
from tests.people import email_of
from tests.sampling import Some
from tests.security.callers import OTHERS, UNKNOWN

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
SAFE = {"GET", "HEAD", "OPTIONS"}
ANOTHER = PROJECT | {"telegramToken": "555:a-free-bot"}


@dataclass(frozen=True)
class Route:
    """`methods` are the existing ones, each with the status for permitted callers;
    `others` is what the other users get."""

    methods: dict[str, int]
    others: int | None = None  # None: the same as the owner, on their own objects whether API keys are admitted at all
    keys: bool = True  # whether API keys are let in at all
    public: bool = False
    body: dict[str, Any] | None = None

    def expected(self, method: str, who: str) -> int:
        declared = self.methods.get("GET" if method == "HEAD" else method, 200 if method == "OPTIONS" else 405)
        if self.public:
            return declared
        if who in UNKNOWN:
            return 401
        if "key" in who and not self.keys:
            return 403
        if who == "owner read key" and method not in SAFE:
            return 403
        if who in OTHERS and self.others and declared < 400 and method != "OPTIONS":
            return self.others
        return declared


def requests_by(people: Sequence[str], rule: Route, some: Some) -> Iterator[tuple[str, str]]:
    """Each method with its callers. A run sends the existing methods as everyone,
    and the others as every third caller."""
    for number, method in enumerate(METHODS):
        yield from (
            (method, who) for who in (people if method in rule.methods else some(people, one_in=3, first=number))
        )


TABLE = {
    "/api/projects": Route({"GET": 200, "POST": 201}, body=ANOTHER),
    "/api/projects/validate": Route({"POST": 200}, body=ANOTHER),
    "/api/projects/control": Route({"POST": 200}, body={"ids": [str(UUID(int=7))], "action": "stop"}),
    "/api/projects/<str:id>": Route({"GET": 200, "PATCH": 200, "DELETE": 204}, others=404, body={"name": "Renamed"}),
    "/api/projects/<str:id>/control": Route({"POST": 200}, others=404, body={"action": "stop"}),
    "/api/projects/<str:id>/events": Route({"GET": 200}, others=404),
    "/api/projects/<str:id>/logs": Route({"GET": 200}, others=404),
    "/api/projects/<str:id>/memory": Route({"DELETE": 200}, others=404),
    "/api/projects/<str:id>/pairing": Route({"POST": 201}, others=404, body={"mode": "add"}),
    "/api/projects/<str:id>/runs": Route({"GET": 200}, others=404),
    "/api/projects/<str:id>/stats": Route({"GET": 200}, others=404),
    "/api/projects/<str:id>/update": Route({"POST": 200}, others=404),
    "/api/projects/<str:id>/usage": Route({"GET": 200}, others=404),
    "/api/events": Route({"GET": 200}),
    "/api/me": Route({"GET": 200}),
    "/api/plans": Route({"GET": 200}),
    "/api/types": Route({"GET": 200}),
    "/api/auth/login": Route(
        {"POST": 200}, public=True, body={"email": email_of("alice"), "password": CANARY_PASSWORD}
    ),
    "/api/auth/session": Route({"GET": 200}, public=True),
    "/api/auth/logout": Route({"POST": 204}, keys=False),
    "/api/auth/keys": Route({"GET": 200, "POST": 201}, keys=False, body={"name": "New", "scope": "read"}),
    "/api/auth/keys/<str:pk>": Route({"DELETE": 204}, others=404, keys=False),
    "/api/auth/keys/<str:pk>/rotate": Route({"POST": 201}, others=404, keys=False),
    "/api/auth/sessions": Route({"GET": 200}, keys=False),
    "/api/auth/sessions/<str:pk>": Route({"DELETE": 204}, others=404, keys=False),
    "/api/schema": Route({"GET": 200}, public=True),
    "/api/docs": Route({"GET": 200}, public=True),
}


def routes_of(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes_of(pattern.url_patterns, path)
        else:
            yield path


CODES = {403: "permission_denied", 404: "not_found", 405: "method_not_allowed"}
ROUTES = sorted({path for path in routes_of(get_resolver().url_patterns) if path.startswith("/api")})

CONTENTS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "application/json"),
    "an object": (b"{}", "application/json"),
    "a change": (b'{"name": "Mine now"}', "application/json"),
    "a token in use": (json.dumps({"telegramToken": CANARY_TELEGRAM_TOKEN}).encode(), "application/json"),
    "a start": (b'{"action": "start"}', "application/json"),
    "a stop": (b'{"action": "stop"}', "application/json"),
    "a restart": (b'{"action": "restart"}', "application/json"),
    "no action": (b'{"action": "dance"}', "application/json"),
    "an unknown field": (b'{"owner": "bob"}', "application/json"),
    "broken JSON": (b"{", "application/json"),
    "a list": (b"[]", "application/json"),
    "a form": (b"name=x", "application/x-www-form-urlencoded"),
    "70 KB": (b" " * 70_000, "application/json"),
}
QUERIES = ("", "?wait=1", "?wait=x", "?restart=true", "?restart=x", "?tail=1", "?tail=x", "?since=x", "?follow=x")
