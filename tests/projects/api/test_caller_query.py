"""The query that finds the caller together with the project changes no response."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework.request import Request

from accounts.credentials.session_tokens import issue_session, read_session, revoke_session
from accounts.http import Credential
from accounts.models import Notice, Scope, User
from accounts.services.api_keys import issue_api_key
from projects.api.caller_query import find_with_caller
from projects.api.urls import urlpatterns
from projects.api.viewsets import own_projects
from projects.models import Project
from tests.clients import Call

pytestmark = pytest.mark.django_db

SAME_ID = {"X-Request-ID": "same"}
COUNTED = {"RateLimit-Remaining", "RateLimit-Reset", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit"}


def unsafe_routes() -> list[tuple[str, str]]:
    routes = [(str(pattern.pattern), getattr(pattern.callback, "actions", {})) for pattern in urlpatterns]
    return [
        (method.upper(), route)
        for route, actions in routes
        for method in actions
        if "<str:id>" in route and method not in {"get", "head", "options"}
    ]


def make_key(user: User, scope: Scope = Scope.WRITE) -> str:
    session = read_session(issue_session(user))
    signed_in = Credential("session", "session", jti=session.jti, expires_at=session.expires_at)
    return issue_api_key(user=user, session=signed_in, name="x", scope=scope, lifetime_days=None)[1]


def revoked(user: User) -> str:
    token = issue_session(user)
    claims = read_session(token)
    revoke_session(jti=claims.jti, expires_at=claims.expires_at)
    return token


def after(change: Callable[[User], object]) -> Callable[[User], str]:
    """Returns a function that issues a token and then makes this change."""

    def issue(user: User) -> str:
        token = issue_session(user)
        change(user)
        return token

    return issue


REFUSED: dict[str, Callable[[User], str | None]] = {
    "nobody": lambda _: None,
    "no token": lambda _: "nonsense",
    "no key": lambda _: "brth_nonsense",
    "revoked": revoked,
    "deactivated": after(lambda user: User.objects.filter(pk=user.pk).update(is_active=False)),
    "signed out": after(lambda user: User.objects.filter(pk=user.pk).update(session_version=99)),
    "reading key": lambda user: make_key(user, Scope.READ),
    "maintenance": after(lambda _: Notice.objects.create(pk=1, text="We move the disks.", is_maintenance=True)),
}
ACCEPTED: dict[str, Callable[[User], str | None]] = {"session": issue_session, "key": make_key}


def responses(call: Call, route: tuple[str, str], ids: list[str], token: str | None) -> list[Any]:
    method, path = route
    answers = [call(method, f"/api/{path.replace('<str:id>', each)}", {}, by=token, **SAME_ID) for each in ids]
    return [
        (
            answer.status_code,
            answer.content,
            {name: value for name, value in answer.headers.items() if name not in COUNTED},
        )
        for answer in answers
    ]


@pytest.mark.parametrize("who", [*REFUSED, *ACCEPTED])
@pytest.mark.parametrize("route", unsafe_routes(), ids=" ".join)
def test_a_refusal_is_the_same_as_without_the_query(
    call: Call, alice: User, bob: User, project: Project, route: tuple[str, str], who: str, monkeypatch: Any
) -> None:
    """For the caller's own project, another's, one that does not exist, and what cannot be an id."""
    theirs = Project.objects.create(
        owner=bob, name="Theirs", instance=project.instance, plan=project.plan, agent_type=project.agent_type
    )
    ids = [str(theirs.pk), str(uuid4()), "x", str(project.pk).replace("-", "")]
    if who in REFUSED:
        ids.append(str(project.pk))
    token = (REFUSED | ACCEPTED)[who](alice)
    seen = responses(call, route, ids, token)
    assert {status for status, *_ in seen} <= ({401, 403, 404, 503} if who in REFUSED else {404})
    monkeypatch.setattr(own_projects, "find_with_caller", lambda *_: None)
    assert responses(call, route, ids, token) == seen


@pytest.mark.parametrize("who", ACCEPTED)
def test_a_command_finds_its_caller_and_its_project_with_one_query(
    call: Call, alice: User, project: Project, who: str
) -> None:
    token = ACCEPTED[who](alice)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = call("POST", f"/api/projects/{project.pk}/control", {"action": "stop"}, by=token)
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    reads = [each["sql"] for each in queries if each["sql"].startswith("SELECT") and "accounts_user" in each["sql"]]
    assert len(reads) == 1, reads


@pytest.mark.parametrize("who", ACCEPTED)
def test_the_project_is_what_the_other_query_finds(alice: User, project: Project, who: str) -> None:
    token = ACCEPTED[who](alice)
    request = Request(RequestFactory().post("/", headers={"Authorization": f"Bearer {token}"}))
    found, expected = find_with_caller(request, project.pk), Project.find_own(alice.pk, project.pk)
    assert found is not None
    assert expected is not None
    names = [name for name in vars(expected) if name != "_state"]
    assert {name: vars(found)[name] for name in names} == {name: vars(expected)[name] for name in names}
    assert (found.plan, found.agent_type, found.owner) == (expected.plan, expected.agent_type, expected.owner)
    assert found.known_spending == expected.known_spending
