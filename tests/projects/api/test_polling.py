"""A poll gets 304 exactly if the response would have the bytes that the client has, no matter what happened to
the rows, the watcher and the clock.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import User
from projects.api.lists import conditional_lists as polled_list
from projects.models import Project
from projects.models.rows.change_marks import ResponseBasis
from tests.many_rows import multiply
from tests.projects.histories import History
from tests.shortcuts import without_shortcuts

PATHS = ("/api/projects", "/api/projects?limit=2", "/api/projects/{id}", "/api/auth/session")


@pytest.fixture
def shortcuts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each poll of a remembered list was answered without reading it."""
    taken: list[bool] = []
    holds = ResponseBasis.holds

    def noted(told: Any, current: Any, now: datetime) -> bool:
        taken.append(holds(told, current, now))
        return taken[-1]

    monkeypatch.setattr(ResponseBasis, "holds", noted)
    yield taken
    polled_list._memory.clear()


@pytest.mark.rare(1)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_only_an_unchanged_answer_is_a_304(
    api: APIClient, project: Project, alice: User, shortcuts: list[bool], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(settings, "BERTH_LIMITS", {})
    history = History(seed, alice)
    monkeypatch.setattr(clock, "now", lambda: history.now)
    known: dict[str, tuple[str, bytes]] = {}
    outcomes = set()
    for _ in range(30):
        history.step()
        for path in (each.format(id=project.pk) for each in PATHS):
            with without_shortcuts():
                answer = api.get(path)
            short = api.get(path)
            assert short.status_code == answer.status_code
            assert short.status_code != 200 or (short.content, short["ETag"]) == (answer.content, answer["ETag"])
            if path in known:
                etag, body = known[path]
                polled = api.get(path, headers={"if-none-match": etag})
                outcomes.add((path, polled.status_code))
                assert (polled.status_code == 304) == (answer.content == body and answer.status_code == 200)
                assert polled.status_code in {304, answer.status_code}
                assert polled.status_code != 200 or polled.content == answer.content
            if answer.status_code == 200:
                known[path] = (answer["ETag"], answer.content)
    assert {status for path, status in outcomes if "limit" in path} == {200, 304}
    assert (True in shortcuts) == (connection.vendor == "postgresql")


def test_an_unchanged_list_costs_one_query_and_reads_no_project(
    api: APIClient, project: Project, alice: User, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(1, alice)
    for _ in range(5):  # until the deployed one has settled
        history.rest()
    monkeypatch.setattr(clock, "now", lambda: history.now)
    etag = api.get("/api/projects")["ETag"]
    is_narrow = connection.vendor == "postgresql"
    for headers, status in (({"if-none-match": etag}, 304), ({}, 200)):
        with django_assert_num_queries(1 if is_narrow else 2) as asked:
            assert api.get("/api/projects", headers=headers).status_code == status
        assert is_narrow != any('"projects_project"."name"' in query["sql"] for query in asked)


def test_the_tag_of_a_page_depends_on_its_own_rows_only(
    api: APIClient, alice: User, project: Project, shortcuts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("No other database numbers the versions of rows.")
    Project.objects.filter(pk=project.pk).update(desired="stopped", container_state="", container_id="")
    multiply(Project.objects.get(pk=project.pk), 4)
    history = History(1, alice)
    history.rest()
    monkeypatch.setattr(clock, "now", lambda: history.now)
    newest = list(Project.objects.all())

    def is_told_from_memory() -> bool:
        shortcuts.clear()
        told = api.get("/api/projects?limit=2").json()
        assert [each["id"] for each in told] == [str(each.pk) for each in Project.objects.all()[:2]]
        return shortcuts[:1] == [True]

    is_told_from_memory()
    assert is_told_from_memory()
    for place in range(5):
        Project.objects.filter(pk=newest[place].pk).update(name=f"Renamed {place}")
        assert is_told_from_memory() == (place > 2), "The third says that there are more."
    for place in (4, 3, 2, 1):
        newest[place].delete()
        assert is_told_from_memory() == (place > 2)


@pytest.mark.parametrize("sent", ['"other"', "*", "W/{}", '"a", {}', "nonsense", "{}x"])
def test_if_none_match_is_read_as_the_standard_says(api: APIClient, project: Project, sent: str) -> None:
    etag = api.get("/api/auth/session")["ETag"]
    status = api.get("/api/auth/session", headers={"if-none-match": sent.format(etag)}).status_code
    assert (status == 304) == (sent in {"*", "W/{}", '"a", {}'})


def test_a_tag_reveals_nothing_about_other_users(api: APIClient, bobs_api: APIClient) -> None:
    mine = api.get("/api/projects")
    his = bobs_api.get("/api/projects", headers={"if-none-match": mine["ETag"]})
    assert (mine.content, his.status_code, his.content) == (b"[]", 200, b"[]")


def test_a_304_has_the_headers_that_caches_and_clients_need(api: APIClient, deploy: Any) -> None:
    for number in range(3):
        deploy(telegramToken=f"{number + 1}:token")
    whole = api.get("/api/projects?limit=2")
    answer = api.get("/api/projects?limit=2", headers={"if-none-match": whole["ETag"]})
    assert answer.status_code == 304
    for name in ("ETag", "Vary", "Cache-Control", "Link"):
        assert answer[name] == whole[name]
    assert "Content-Length" not in answer
    assert "Content-Type" not in answer
    assert (answer["Cache-Control"], answer["Vary"]) == ("no-store", "Authorization")
