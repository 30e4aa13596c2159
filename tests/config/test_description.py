"""What the description of the API says about all its paths."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from jsonschema import validate

from tests.fakes.engine import MemoryEngine
from tests.security.access_table import ROUTES, TABLE

pytestmark = pytest.mark.one_database

NO_OPERATIONS = {"/api/schema", "/api/docs"}


@cache
def schema() -> dict[str, Any]:
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # spectacular's
    return found


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in schema()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_the_schema_describes_exactly_the_routes_and_methods() -> None:
    described = {(path, method.upper()) for path, method, _ in operations()}
    routed = {
        (route.replace("<str:id>", "{id}").replace("<str:pk>", "{id}"), method)
        for route in set(ROUTES) - NO_OPERATIONS
        for method in TABLE[route].methods
    }
    assert described == routed | {("/healthz", "GET"), ("/readyz", "GET"), ("/readyz/server", "GET")}


def test_the_schema_names_its_server() -> None:
    assert schema()["servers"] == [{"url": settings.BERTH_PUBLIC_URL}]


def test_the_schema_names_the_requested_host_if_it_differs(client: Client, settings: Any) -> None:
    settings.BERTH_PUBLIC_URL = "https://berth.example.org"
    settings.ALLOWED_HOSTS = ["berth.example.org", "inside.example.org"]
    for asked, named in (("berth", "https://berth.example.org"), ("inside", "http://inside.example.org")):
        answer = client.get("/api/schema", headers={"host": f"{asked}.example.org"})
        assert answer.status_code == 200
        assert json.loads(answer.content)["servers"] == [{"url": named}]


def test_each_id_in_a_path_is_a_uuid() -> None:
    found = [
        each for _, _, operation in operations() for each in operation.get("parameters", []) if each["in"] == "path"
    ]
    assert len(found) > 10
    assert {tuple(each["schema"].items()) for each in found} == {(("type", "string"), ("format", "uuid"))}


def test_the_names_of_operations_are_unique() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)


CHECKS = ["check_health", "check_readiness", "check_server"]


def test_all_but_the_session_may_refuse_a_parameter() -> None:
    refusing = {operation["operationId"]: "400" in operation["responses"] for _, _, operation in operations()}
    assert [name for name, refuses in refusing.items() if not refuses] == ["session", *CHECKS]


def test_a_replay_is_marked_in_every_answer_that_may_be_one() -> None:
    marked = {
        (operation["operationId"], status)
        for _, _, operation in operations()
        for status, answer in operation["responses"].items()
        if "Idempotent-Replayed" in answer.get("headers", {})
    }
    assert marked == {("create_project", "201"), ("control_projects", "200")}


@pytest.mark.django_db
def test_the_health_checks_answer_as_described(client: Client, engine: MemoryEngine) -> None:
    for path, silent in (("/healthz", False), ("/readyz", False), ("/readyz", True), ("/readyz/server", True)):
        engine.unavailable = silent
        answer = client.get(path)
        described = schema()["paths"][path]["get"]["responses"][str(answer.status_code)]
        validate(answer.json(), described["content"]["application/json"]["schema"])
        assert set(answer.json()) <= set(described["content"]["application/json"]["schema"]["properties"])


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "get")


@pytest.mark.django_db
def test_every_405_lists_the_allowed_methods(client: Client, api: Client) -> None:
    seen = 0
    for route in (*ROUTES, "/healthz", "/readyz", "/readyz/server"):
        address = route.replace("<str:id>", "x").replace("<str:pk>", "x")
        for method in METHODS:
            answer = api.generic(method, address, b"{}", "application/json")
            if answer.status_code == 405:
                seen += 1
                assert set(TABLE[route].methods if route in TABLE else {"GET"}) <= set(answer["Allow"].split(", "))
                assert method not in answer["Allow"].split(", "), f"{method} {route}"
    assert seen > 60
