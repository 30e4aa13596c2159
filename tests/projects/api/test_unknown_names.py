"""Undeclared fields and parameters are refused by name on every route, with a suggestion."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.urls import get_resolver, resolve
from rest_framework.test import APIClient

from accounts.api.parameters import StrictView
from accounts.api.serializers import LoginSerializer, NewKeySerializer
from accounts.api.unknown_names import describe_unknown_names, suggest
from projects.api.serializers.budget import OwnBudgetSerializer
from projects.api.serializers.control import ControlSerializer
from projects.api.serializers.project_requests import NewProjectSerializer, ProjectChangeSerializer
from projects.models import Project
from tests.problem_document import assert_problem
from tests.projects.api.sending import Sender
from tests.security.access_table import TABLE, routes_of

pytestmark = pytest.mark.one_database

EXEMPT = {"/api/docs", "/api/auth/session"}
"""A page to which links may add any parameters, so none is an error."""

ROUTES = sorted({path for path in routes_of(get_resolver().url_patterns) if path.startswith("/api")} - EXEMPT)
CALLS = [(route, method) for route in ROUTES for method in TABLE[route].methods]


def address(route: str, project: Project | None = None) -> str:
    found = str(project.pk if project else UUID(int=7))
    return route.replace("<str:id>", found).replace("<str:pk>", str(UUID(int=7)))


def test_every_route_refuses_a_parameter_that_it_does_not_have(api: APIClient, project: Project) -> None:
    for route, method in CALLS:
        view: Any = resolve(address(route)).func
        assert issubclass(view.cls, StrictView)
        answer = api.generic(
            method, f"{address(route, project)}?nobody=1&ünknown=&limit%20=3", "{}", "application/json"
        )
        errors = {error["field"]: error["code"] for error in assert_problem(answer, 400, "invalid")["errors"]}
        assert errors == {"nobody": "unknown", "ünknown": "unknown", "limit ": "unknown"}, f"{method} {route}"


def test_the_session_is_never_an_error(api: APIClient) -> None:
    assert api.get("/api/auth/session?nobody=1&nobody=2").json()["authenticated"] is True


def test_every_method_of_every_view_declares_its_parameters() -> None:
    for route, method in CALLS:
        view: Any = resolve(address(route)).func
        name = getattr(view, "actions", {}).get(method.lower(), method.lower())
        assert hasattr(getattr(view.cls, name), "parameters"), f"{method} {route}: use `describe` or `takes`"


def test_a_404_comes_before_wrong_parameters(api: APIClient, bobs_api: APIClient, project: Project) -> None:
    for client, found in ((api, UUID(int=7)), (bobs_api, project.pk)):
        for rest in ("", "/logs", "/events", "/usage"):
            assert_problem(client.get(f"/api/projects/{found}{rest}?nobody=1"), 404, "not_found")


def test_every_wrong_parameter_is_reported(api: APIClient, send: Sender, project: Project) -> None:
    path = f"/api/projects/{project.pk}/logs"
    answer = api.get(f"{path}?tail=x&since=never&follow=maybe&run=0&lines=3")
    fields = {error["field"] for error in assert_problem(answer, 400, "invalid")["errors"]}
    assert fields == {"tail", "since", "follow", "run", "lines"}
    answer = api.get("/api/projects?limit=0&cursor=x&page=2")
    fields = {error["field"] for error in assert_problem(answer, 400, "invalid")["errors"]}
    assert fields == {"limit", "cursor", "page"}
    answer = send.raw("create", b"{}", HTTP_IDEMPOTENCY_KEY="ü")
    assert_problem(answer, 400, "invalid", field="Idempotency-Key")


def test_many_unknown_parameters_are_reported_in_part(api: APIClient) -> None:
    answer = api.get("/api/projects?" + "&".join(f"p{number}=1" for number in range(500)))
    assert len(assert_problem(answer, 400, "invalid")["errors"]) == 20


def test_a_parameter_is_sent_once(api: APIClient) -> None:
    answer = api.get("/api/projects?limit=1&limit=1")
    assert assert_problem(answer, 400, "invalid", field="limit")["errors"][0]["detail"] == "Send limit once."


# -- did you mean -----------------------------------------------------------------------------------------------------

FIELDS = {
    serializer.__name__: [name for name, field in serializer().fields.items() if not field.read_only]
    for serializer in (
        LoginSerializer, NewKeySerializer, NewProjectSerializer, ProjectChangeSerializer, OwnBudgetSerializer,
        ControlSerializer,
    )
}  # fmt: skip


def misspelled(name: str) -> Iterator[str]:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    camel = "".join(part.title() if place else part for place, part in enumerate(name.split("_")))
    yield from (snake, snake.upper(), snake.replace("_", "-"), snake.replace("_", " "), camel, camel.title())
    yield from (name.upper(), name.lower(), f" {name}", f"{name}\n", f"{name}s", f"{name}\ud800")
    for place in range(len(name)):
        before, letter, after = name[:place], name[place], name[place + 1 :]
        yield from (before + after, before + letter + letter + after, f"{before}é{after}")
        if after:
            yield before + after[0] + letter + after[1:]


@pytest.mark.parametrize("serializer", FIELDS)
def test_a_misspelled_field_gets_a_suggestion(serializer: str) -> None:
    known = FIELDS[serializer]
    for name in known:
        for wrong in set(misspelled(name)) - set(known):
            (error,) = describe_unknown_names([wrong], known=known, noun="field").values()
            assert str(error[0]) == f"There is no such field: did you mean {name}? Send it under that name.", wrong


def test_an_unrecognisable_name_gets_no_suggestion() -> None:
    for name in ("", "_", "x", "owner", "🚢", "\ud800", "-" * 70_000, "z" * 70_000):
        assert suggest(name, FIELDS["NewProjectSerializer"]) is None


def test_telegram_token_in_snake_case_gets_a_suggestion(api: APIClient, body: dict[str, Any]) -> None:
    wrong = {"telegram_token" if name == "telegramToken" else name: value for name, value in body.items()}
    for path in ("/api/projects", "/api/projects/validate"):
        told = assert_problem(api.post(path, wrong), 400, "invalid", field="telegram_token")
        (error,) = (error for error in told["errors"] if error["field"] == "telegram_token")
        assert error["detail"] == "There is no such field: did you mean telegramToken? Send it under that name."
        assert body["telegramToken"] not in json.dumps(told)


def test_nested_names_are_reported_too(api: APIClient, body: dict[str, Any]) -> None:
    wrong = body | {"settings": {"Allowed-Users": []}, "budget": {"dayTokens": 1}}
    told = {error["field"]: error["detail"] for error in api.post("/api/projects", wrong).json()["errors"]}
    assert told["budget.dayTokens"] == "There is no such field: did you mean day_tokens? Send it under that name."
    told = {
        error["field"]: error["detail"]
        for error in api.post("/api/projects", body | {"settings": {"Allowed-Users": []}}).json()["errors"]
    }
    assert told["settings.Allowed-Users"].startswith("There is no such setting: did you mean allowed_users?")


def test_a_misspelled_parameter_gets_a_suggestion(api: APIClient) -> None:
    told = assert_problem(api.get("/api/projects?Limt=3"), 400, "invalid", field="Limt")
    assert told["errors"][0]["detail"] == "There is no such parameter: did you mean limit? Send it under that name."
