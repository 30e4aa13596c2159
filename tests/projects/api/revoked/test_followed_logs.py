"""A followed log ends with its token and with its project."""

from typing import Any

import pytest

from accounts.models import User
from projects.models import LongRequest, Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import events_of, hang_up
from tests.projects.api.revoked.revoking import CASES, KEY, PROJECT_ENDS, SESSION, TOKEN_ENDS


@pytest.mark.one_database
@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("printing", [True, False])
def test_a_followed_log_ends_with_its_token(
    client_of: Any, alice: User, project: Project, engine: MemoryEngine, kind: str, name: str, printing: bool
) -> None:
    engine.silence = 0.01
    engine.log(project.container_name, "before")
    answer = client_of(kind).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    assert next(events).endswith(" before")
    TOKEN_ENDS[name][1](alice, project)
    if printing:
        engine.log(project.container_name, "must not be read")
    rest = list(events)
    assert [event.partition("\n")[0] for event in rest] == ["event: error"]
    assert "must not be read" not in "".join(rest)
    hang_up(answer)
    assert not LongRequest.objects.exists()


@pytest.mark.parametrize("name", PROJECT_ENDS)
def test_a_followed_log_ends_with_its_project(
    client_of: Any, alice: User, project: Project, engine: MemoryEngine, name: str
) -> None:
    engine.log(project.container_name, "before")
    answer = client_of(SESSION).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    next(events)
    PROJECT_ENDS[name](alice, project)
    engine.log(project.container_name, "must not be read")
    rest = "".join(events)
    hang_up(answer)
    assert rest.startswith("event: error\n")
    assert "must not be read" not in rest


def test_a_followed_log_continues_while_its_token_is_valid(
    client_of: Any, project: Project, engine: MemoryEngine
) -> None:
    for number in range(5):
        engine.log(project.container_name, f"line {number}")
    answer = client_of(KEY).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    assert [next(events).rpartition(" ")[2] for _ in range(5)] == list("01234")
    hang_up(answer)
