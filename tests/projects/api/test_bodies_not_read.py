"""A POST without a body in the description: what is sent all the same is refused, and not silently left out."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from rest_framework.test import APIClient

from tests.clients import api_of, make_person
from tests.problem_document import assert_problem, errors_of
from tests.projects.api.sending import as_json
from tests.projects.played_back import played_back
from tests.security.described import Operation, read_description
from tests.security.populated_service import PopulatedService

pytestmark = pytest.mark.one_database

LOGOUT = "/api/auth/logout"


@pytest.fixture
def service(db: None, engine: Any) -> PopulatedService:
    return PopulatedService.make(engine)


@pytest.fixture
def operations(db: None) -> list[Operation]:
    """Those by POST that have no body, but for the sign-out, which succeeds with any."""
    return [
        Operation(method=method.upper(), path=path)
        for path, methods in read_description()["paths"].items()
        for method, described in methods.items()
        if method == "post" and "requestBody" not in described and path != LOGOUT
    ]


def send(
    api: APIClient, service: PopulatedService, operation: Operation, content: Any, kind: str = "application/json"
) -> Any:
    """Returns the answer to a request of which nothing remains."""
    ids = {"/sessions/": service.route_parameters["session_id"], "/keys/": service.key.pk, "": service.project.pk}
    found = next(each for part, each in ids.items() if part in operation.path)
    with played_back(service.engine):
        return api.generic(operation.method, operation.address({"id": found}), content, kind)


def test_there_are_such_operations(operations: list[Operation]) -> None:
    named = {str(operation) for operation in operations}
    assert {"POST /api/auth/keys/{id}/rotate", "POST /api/projects/{id}/update"} <= named


def test_a_field_is_refused_by_name_and_nothing_is_done(service: PopulatedService, operations: list[Operation]) -> None:
    """Who sends `{"expires_in_days": 365}` to rotate a key believes that the new one has it."""
    api = api_of(service.alice)
    for operation in operations:
        before = service.state()
        told = errors_of(send(api, service, operation, as_json({"expires_in_days": 365, "restart": False})))
        assert {(error["field"], error["code"]) for error in told} == {
            ("expires_in_days", "unknown"),
            ("restart", "unknown"),
        }, operation
        assert service.state() == before


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"null",
        b"{",
        b'{"a": 1, "a": 2}',
    ],
)
def test_another_body_is_refused(service: PopulatedService, operations: list[Operation], content: bytes) -> None:
    api = api_of(service.alice)
    for operation in operations:
        assert_problem(send(api, service, operation, content), 400, "invalid")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/json"),
        (b"{}", "application/json"),
        (b"", ""),
        (b"--x--\r\n", "multipart/form-data; boundary=x"),
        (b"a=b", "application/x-www-form-urlencoded"),
        (b"x", "text/plain"),
    ],
)
def test_an_empty_object_and_what_is_no_json_are_like_no_body(
    service: PopulatedService, operations: list[Operation], content: bytes, kind: str
) -> None:
    for operation in operations:
        assert send(api_of(service.alice), service, operation, content, kind).status_code < 300, operation


@pytest.mark.parametrize("content", ['{"refresh": "x"}', "[]", "{", ""])
def test_a_sign_out_succeeds_with_any_body(service: PopulatedService, content: str) -> None:
    api = api_of(service.alice)
    assert api.generic("POST", LOGOUT, content, "application/json").status_code == 204
    assert api.get("/api/auth/session").json()["authenticated"] is False


def test_what_is_not_there_comes_first(service: PopulatedService, operations: list[Operation]) -> None:
    """The answers of others do not depend on the id being somebody's."""
    api, bob = api_of(service.alice), api_of(make_person("bob"))
    for operation in operations:
        if "/projects/" not in operation.path:
            continue
        for client, found in ((api, UUID(int=7)), (api, uuid4()), (bob, service.project.pk)):
            path = operation.path.replace("{id}", str(found))
            answer: Any = client.generic(operation.method, path, as_json({"a": 1}), "application/json")
            assert_problem(answer, 404, "not_found")
