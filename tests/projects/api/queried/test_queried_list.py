"""GET /api/projects by status, text and order, and with more fields. The usual list is the oracle."""

import unicodedata
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from projects.api.lists.filtered_lists import SORT
from projects.models import Project, Watch
from projects.rules.status.statuses import TRAITS, Status
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.queried.rows import twin

pytestmark = pytest.mark.one_database


def ids(listed: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in listed]


def test_filtering_by_status_agrees_with_the_usual_list(api: APIClient, rows: Any) -> None:
    usual = api.get("/api/projects").json()
    assert len({row["status"] for row in usual}) >= 8
    for status in Status.values:
        assert api.get(f"/api/projects?status={status}").json() == [row for row in usual if row["status"] == status]
    both = [row for row in usual if row["status"] in {"crashed", "stopped"}]
    assert len(both) == 4
    assert api.get("/api/projects?status=crashed,stopped").json() == both
    assert api.get("/api/projects?status=stopped&status=crashed").json() == both
    assert api.get("/api/projects?q=").json() == api.get("/api/projects?sort=-created_at").json() == usual


@pytest.mark.parametrize(
    ("text", "found_in"),
    [("ÄRGER", ("ärger", "Ärger 2")), ("%", ("100%",)), ("_b", ("a_b",)), ("strasse", ("STRASSE", "straße"))],
)
def test_a_text_is_found_in_names_in_any_letter_case(
    api: APIClient, rows: Any, text: str, found_in: tuple[str, ...]
) -> None:
    Project.objects.update(bot_username="")
    found = api.get(f"/api/projects?q={quote(text)}").json()
    assert api.get(f"/api/projects?q={quote(unicodedata.normalize('NFD', text))}").json() == found
    assert {row["name"] for row in found} == set(found_in)
    assert ids(found) == [row["id"] for row in api.get("/api/projects").json() if row["name"] in found_in]


def test_a_text_is_found_in_ids_and_names_of_bots(api: APIClient, rows: list[Project]) -> None:
    some = rows[5]
    assert ids(api.get(f"/api/projects?q={str(some.pk)[:13].upper()}").json()) == [str(some.pk)]
    for text in (f"@{some.bot_username.lower()}", f"  {some.bot_username} "):
        assert ids(api.get(f"/api/projects?q={quote(text)}").json()) == [str(some.pk)]


KEYS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "created_at": lambda row, whole: whole[row["id"]].created_at,
    "updated_at": lambda row, whole: whole[row["id"]].updated_at,
    "name": lambda row, whole: row["name"].casefold(),
    "status": lambda row, whole: (
        ("error", "warning", "info").index(TRAITS[Status(row["status"])].reason_level), row["status"],
    ),
}  # fmt: skip
SORTS = SORT.schema["enum"]


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_is_kept_on_all_pages_both_ways(api: APIClient, rows: Any, sort: str) -> None:
    whole = {str(project.pk): project for project in Project.objects.all()}
    listed = api.get(f"/api/projects?sort={sort}").json()
    keys = [(KEYS[sort.lstrip("-")](row, whole), row["id"]) for row in listed]
    assert keys == sorted(keys, reverse=sort.startswith("-"))
    assert len(set(ids(listed))) == len(whole)
    for size in (1, 4, 18, 19, 200):
        answer = api.get(f"/api/projects?sort={sort}&q=&status={','.join(Status.values)}&limit={size}")
        pages = [answer]
        while to := link(pages[-1], "next"):
            pages.append(api.get(to))
        assert ids([row for page in pages for row in page.json()]) == ids(listed)
        assert [len(page.json()) for page in pages[:-1]] == [size] * (len(pages) - 1)
        for later, earlier in zip(pages[:0:-1], pages[-2::-1], strict=True):
            to = link(later, "prev")
            assert to
            assert api.get(to).json() == earlier.json()
        assert link(answer, "prev") is None


def link(answer: Any, name: str) -> str | None:
    for each in filter(None, answer.get("Link", "").split(", ")):
        address, rel = each.split("; ")
        if rel == f'rel="{name}"':
            return str(address.strip("<>"))
    return None


def test_changes_between_two_pages_neither_skip_nor_repeat_a_project(api: APIClient, rows: Any) -> None:
    first = api.get("/api/projects?sort=name&limit=5")
    rest = ids(api.get("/api/projects?sort=name").json())[5:]
    Project.objects.filter(pk=first.json()[-1]["id"]).delete()
    Project.objects.filter(pk=first.json()[0]["id"]).update(name="aaa")
    assert ids(api.get(link(first, "next") or "").json()) == rest[:5]


def test_additional_fields_equal_those_of_the_detail(api: APIClient, rows: Any) -> None:
    usual = api.get("/api/projects").json()
    listed = api.get("/api/projects?include=status_reason,bot").json()
    assert [{name: row[name] for name in usual[0]} for row in listed] == usual
    assert any(row["status_reason"] for row in listed)
    for row in listed:
        detail = api.get(f"/api/projects/{row['id']}").json()
        assert {name: detail[name] for name in row} == row
    (only,) = {tuple(row) for row in api.get("/api/projects?include=bot&status=crashed").json()}
    assert only == (*usual[0], "bot")


def test_queries_do_not_grow_with_the_list(
    api: APIClient, rows: Any, project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    asked = "/api/projects?q=a&sort=name&status=running,stopped,crashed,failed&include=bot,status_reason"
    with django_assert_num_queries(4):  # the user, their projects, their bots, and the rows of the page
        assert len(api.get(asked).json()) >= 4
    now = timezone.now()
    Project.objects.bulk_create(twin(project, now, number, "crashed") for number in range(30))
    with django_assert_num_queries(4):
        assert len(api.get(asked).json()) >= 20


def test_a_poll_that_finds_the_same_is_a_304(api: APIClient, bobs_api: APIClient, rows: Any) -> None:
    for asked in ("status=crashed", "q=a&sort=name&limit=2", "include=bot"):
        etag = api.get(f"/api/projects?{asked}")["ETag"]
        assert api.get(f"/api/projects?{asked}", headers={"if-none-match": etag}).status_code == 304
    assert bobs_api.get("/api/projects?include=bot", headers={"if-none-match": etag}).status_code == 200
    Project.objects.filter(name="x").update(name="y")
    changed = api.get("/api/projects?include=bot", headers={"if-none-match": etag})
    assert (changed.status_code, "y" in {row["name"] for row in changed.json()}) == (200, True)


def test_a_status_that_only_the_engine_knows_is_found(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    Watch.objects.all().delete()
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    assert ids(api.get("/api/projects?status=running").json()) == [str(project.pk)]
    engine.unavailable = True
    assert api.get("/api/projects?status=running").json() == []
    assert ids(api.get("/api/projects?status=unknown&include=status_reason").json()) == [str(project.pk)]


def test_nobody_finds_the_projects_of_another(bobs_api: APIClient, rows: list[Project], alice: User) -> None:
    everything = f"status={','.join(Status.values)}&include=bot,status_reason&sort=name"
    for asked in (everything, f"q={rows[0].pk}", f"q={rows[0].bot_username}", "q=@", "limit=1&sort=name"):
        answer = bobs_api.get(f"/api/projects?{asked}")
        assert (answer.json(), "Link" in answer) == ([], False)


def test_a_cursor_works_only_with_its_own_list(api: APIClient, bobs_api: APIClient, rows: list[Project]) -> None:
    usual = link(api.get("/api/projects?limit=2"), "next") or ""
    by_name = link(api.get("/api/projects?limit=2&sort=name"), "next") or ""
    cursors = [each.partition("cursor=")[2].partition("&")[0] for each in (usual, by_name)]
    for asked in (f"sort=name&cursor={cursors[0]}", f"cursor={cursors[1]}", f"sort=status&cursor={cursors[1]}"):
        assert_problem(api.get(f"/api/projects?{asked}"), 400, "invalid", field="cursor")
    assert bobs_api.get(f"/api/projects?sort=name&cursor={cursors[1]}").json() == []


WRONG = {
    "status": ("", "Running", "running,", ",running", "running,,stopped", "running stopped", "none", "running\0", "*"),
    "sort": ("", "plan", "--name", "Name", "name,status", "name ", "telegram_token_ciphertext", "-"),
    "include": ("", "settings", "bot,", "Bot", "telegram_token_ciphertext", "bot;status_reason", "owner"),
    "q": ("x" * 101,),
}


def test_an_invalid_value_is_named(api: APIClient, rows: Any) -> None:
    for name, values in WRONG.items():
        for value in values:
            assert_problem(api.get(f"/api/projects?{name}={quote(value)}"), 400, "invalid", field=name)
    told = api.get("/api/projects?status=x&sort=x&include=x&limit=x&cursor=x&page=2").json()["errors"]
    assert {error["field"] for error in told} == {"status", "sort", "include", "limit", "cursor", "page"}


def test_odd_texts_are_texts(api: APIClient, rows: Any) -> None:
    for text in (
        "\0",
        "%00",
        "' OR 1=1 --",
        "\ud800".encode("utf-8", "surrogatepass"),
        ".*",
        "[",
        "🚢",
        "\u202e",
        "x" * 100,
    ):
        answer = api.get(f"/api/projects?q={quote(text)}")
        assert (answer.status_code, answer.json()) == (200, [])
