"""Polls get the answer that the views behind the shortcuts give: in every status, with every token, no matter how the
request is written, with the same bytes and headers."""

from datetime import datetime
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.views import APIView

from accounts.models import UsageCounter, User
from containers.vocabulary import ContainerState
from projects.models import Project, Watch
from projects.rules.status.lifecycle import Desired, Operation
from projects.rules.status.statuses import Status
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key
from tests.shortcuts import LONG_AGO, PATHS, columns, put, told, without_shortcuts

STATES = ("", *map(str, ContainerState))
OPERATIONS = ("", Operation.STOP, Operation.DEPLOY, Operation.START)
COLUMNS = ("desired", "operation", "container_state", "health", "failure_code")
VALUES = (Desired.values, OPERATIONS, STATES, ("none", "unhealthy", "healthy"), ("", "crash"))
CELLS = [dict(zip(COLUMNS, values, strict=True)) for values in product(*VALUES)]


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that a view behind a shortcut has answered."""
    asked: list[str] = []
    dispatch = APIView.dispatch

    def noted(view: Any, request: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(request.path)
        return dispatch(view, request, *arguments, **options)

    monkeypatch.setattr(APIView, "dispatch", noted)
    return asked


def test_the_shortcut_gives_every_status_like_the_view(
    call: Call, project: Project, tokens: list[str], now: datetime, views: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "BERTH_LIMITS", {})
    seen: set[str] = set()
    read = Project.objects.with_heartbeat().get(pk=project.pk)
    for cell in CELLS:
        for name, value in columns(now, **cell).items():
            setattr(read, name, value)
        if read.status in seen:
            continue
        seen.add(read.status)
        put(project, now, **cell)
        assert Project.objects.with_heartbeat().get(pk=project.pk).status == read.status
        for token, path in product(tokens[:2], PATHS):
            address = path.format(id=project.pk)
            with without_shortcuts():
                whole = told(call("GET", address, by=token))
            etag = whole[2].get("ETag", "none")
            with without_shortcuts():
                unchanged = told(call("GET", address, by=token, **{"If-None-Match": etag}))
            assert unchanged[0] == 304
            for _ in range(2):  # the second one may come from memory
                views.clear()
                assert told(call("GET", address, by=token)) == whole
                assert told(call("GET", address, by=token, **{"If-None-Match": etag})) == unchanged
            is_list = "limit" in path or path.endswith("projects")
            if not is_list or (not cell["operation"] and connection.vendor == "postgresql"):
                assert views == []
    assert seen >= set(Status) - {Status.UNKNOWN, Status.RESTARTING, Status.SUSPENDED, Status.STARTING}


@pytest.mark.parametrize("path", PATHS)
def test_a_row_that_is_not_fresh_is_left_to_the_view(
    call: Call, project: Project, tokens: list[str], now: datetime, views: list[str], path: str
) -> None:
    put(project, now, observed_at=now - LONG_AGO)
    address = path.format(id=project.pk)
    for _ in range(2):
        assert call("GET", address, by=tokens[1]).status_code == 200
    Watch.objects.update(heartbeat_at=now - LONG_AGO)
    views.clear()
    answer = call("GET", address, by=tokens[1])
    assert views == ([] if "session" in path else [address.partition("?")[0]])
    with without_shortcuts():
        assert told(call("GET", address, by=tokens[1])) == told(answer)


UNUSUAL: list[tuple[str, str, dict[str, str]]] = [
    ("HEAD", "", {}),
    ("OPTIONS", "", {}),
    ("GET", "", {"Accept": "text/html"}),
    ("GET", "", {"Accept": "application/json"}),
    ("GET", "", {"Accept": "application/json; indent=4"}),
    ("GET", "", {"Accept": "nonsense"}),
    ("GET", "?format=xml", {}),
    ("GET", "?format=json", {}),
    ("GET", "?what=ever", {}),
    ("GET", "?limit=0", {}),
    ("GET", "?limit=1&limit=2", {}),
    ("GET", "?cursor=nonsense", {}),
    ("GET", "", {"Authorization": "Bearer"}),
    ("GET", "", {"Authorization": "Bearer a b"}),
    ("GET", "", {"Authorization": "Bearer \xe9"}),
    ("GET", "", {"Authorization": "Basic YTpi"}),
    ("GET", "", {"Authorization": ""}),
    ("GET", "", {"If-None-Match": "*"}),
    ("GET", "", {"If-None-Match": '"other"'}),
    ("GET", "", {"Range": "bytes=0-1"}),
    ("POST", "", {}),
    ("PUT", "", {}),
]


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/{id}", "/api/projects/{ID}", "/api/auth/session"])
def test_however_the_request_is_spelled_the_answer_is_the_views(
    call: Call, project: Project, tokens: list[str], now: datetime, path: str
) -> None:
    put(project, now)
    address = path.format(id=project.pk, ID=str(project.pk).upper())
    for method, query, headers in UNUSUAL:
        sent = {"Authorization": f"Bearer {tokens[2]}", **headers}
        answers = [told(call(method, address + query, **sent)) for _ in range(2)]
        with without_shortcuts():
            whole = told(call(method, address + query, **sent))
        assert answers == [whole, whole], (method, query, headers)


def test_a_project_of_another_and_none_at_all_are_the_same(
    call: Call, project: Project, bob: User, tokens: list[str], now: datetime
) -> None:
    put(project, now)
    key = plain_key(ApiKeyFactory.create(user=bob))
    assert call("GET", f"/api/projects/{project.pk}", by=tokens[1]).status_code == 200
    answers = [told(call("GET", f"/api/projects/{each}", by=key)) for each in (project.pk, uuid4(), "nonsense")]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == 404


def test_each_request_counts_once_with_or_without_the_shortcut(
    call: Call, project: Project, tokens: list[str], now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "BERTH_LIMITS", {"reads": 12})
    put(project, now)
    addresses = [path.format(id=project.pk) for path in PATHS[:3]]
    left = []
    for number in range(14):
        if number == 6:
            Watch.objects.update(heartbeat_at=now - LONG_AGO)
        answer = call("GET", addresses[number % 3], by=tokens[1])
        left.append((answer.status_code, answer["RateLimit"].split(";")[1]))
    assert left == [(200, f"r={12 - number}") for number in range(1, 13)] + 2 * [(429, "r=0")]
    assert UsageCounter.objects.get(scope="reads").spent == 12
