"""Invalid paths, headers and queries. Each gets the right problem document, and changes nothing."""

import base64
import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import OpenSession, User
from projects.models import Project
from tests.factories import ApiKeyFactory
from tests.problem_document import assert_problem
from tests.projects.api.sending import Sender, as_json
from tests.security.access_table import TABLE

pytestmark = pytest.mark.usefixtures("nothing_comes_of_it")

NO_IDS = [
    "x", "0", "-1", "None", "null", "undefined", "*", "..", ".", "%2e%2e", "%00", "a%00b", "%0a", "%ff", "%ed%a0%80",
    "00000000-0000-0000-0000-000000000000", "{{{id}}}", "urn:uuid:{id}", "{hex}", "{id}0", "{id}%00", "{id}%20",
    "%20{id}", "{id}%2f", "{id}%0a", "{half}", "{fullwidth}", "🚢", "x" * 2000, "{id}'--", "{id};", "{id},{id}",
    "0x{hex}", "{{{id}", "{id}}}", "{id}-", "-{id}", "{hex}-",
]  # fmt: skip
BY_ID = [(method, route) for route, row in TABLE.items() if "<str:" in route for method in row.methods]


@pytest.fixture
def own(alice: User, project: Project) -> dict[str, str]:
    """The id of what each route is about, by the route's first words."""
    ends_at = timezone.now() + timedelta(hours=1)
    session = OpenSession.objects.create(user=alice, kind="api", ends_at=ends_at, session_version=1)
    of_routes = {"projects": project, "keys": ApiKeyFactory.create(user=alice), "sessions": session}
    return {name: str(row.pk) for name, row in of_routes.items()}


@pytest.mark.parametrize(("method", "route"), BY_ID)
def test_an_invalid_id_is_a_404(api: APIClient, own: dict[str, str], method: str, route: str) -> None:
    name = next(name for name in own if f"/{name}/" in route)
    fullwidth = own[name].translate({ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"})
    found = {"id": own[name], "hex": UUID(own[name]).hex, "half": own[name][:18], "fullwidth": fullwidth}
    body = as_json(TABLE[route].body or {})
    for text in NO_IDS:
        path = re.sub("<str:[a-z]+>", text.format(**found), route)
        assert_problem(api.generic(method, path, body, "application/json"), 404, "not_found")


def test_the_letter_case_of_an_id_does_not_matter(api: APIClient, project: Project) -> None:
    assert api.get(f"/api/projects/{str(project.id).upper()}").json()["id"] == str(project.id)


ODD_PATHS = [
    "/api/projects/", "/api/projects/{id}/", "/api/projects/{id}/control/", "/api//projects", "/api/plans/",
    "/api/projects/{id}/exec", "/api/projects/{id}/control/x", "/api/projects/{id}/../{id}", "/api/v1/projects",
]  # fmt: skip


@pytest.mark.parametrize("path", ODD_PATHS)
def test_paths_are_exact(api: APIClient, project: Project, path: str) -> None:
    for method in ("GET", "POST", "PATCH", "DELETE"):
        answer = api.generic(method, path.format(id=project.id), as_json({"action": "stop"}), "application/json")
        assert_problem(answer, 404, "not_found")


# -- headers and the query --------------------------------------------------------------------------------------------

BAD_KEYS = ["", "x" * 256, "a\x7fb", "a\tb", "a\x00b", "schlüssel", "鍵", "\ud800", "a\x1bb"]


def test_a_bad_idempotency_key_is_named(send: Sender) -> None:
    for key in BAD_KEYS:
        answer = send.raw("create", as_json(send.good("create")), HTTP_IDEMPOTENCY_KEY=key)
        assert_problem(answer, 400, "invalid", field="Idempotency-Key")


def test_a_refused_request_leaves_its_idempotency_key_free(send: Sender) -> None:
    assert send.raw("create", b"{}", HTTP_IDEMPOTENCY_KEY="k").status_code == 400


BAD_CURSORS = [
    "", "x", "%00", "ü", "=", "====", "cD0=", "x" * 3000,
    *(
        base64.b64encode(text.encode()).decode()
        for text in (
            "p=yesterday", "p=", "p=2026-01-01", "p=2026-13-45 00:00:00+00:00", "p=2026-01-01 00:00:00",
            "p=0001-01-01 00:00:00+14:00", "p=9999-12-31 23:59:59-14:00", "p=\x00", "p=1&p=2", "p=%ff",
            "o=-1", "o=x", "o=99999999999999999999", "p=%27--", "r=1&p=never", "p=2026-01-01 00:00:00+99:00",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("limit", ["", "&limit=1"])
def test_a_bad_cursor_is_named(api: APIClient, limit: str) -> None:
    for cursor in BAD_CURSORS:
        answer = api.get(f"/api/projects?cursor={cursor.replace('+', '%2B')}{limit}")
        assert_problem(answer, 400, "invalid", field="cursor")


NO_NUMBERS = [
    "", "-1", "1.5", "1e1", "0x10", "ten", "%20", "1%00", "٣", "²", "\uff11", "000000000999", "9" * 5000, "0" * 5000,
    "NaN", "+5", "true", "null",
]  # fmt: skip


def test_a_bad_limit_is_named(api: APIClient) -> None:
    for limit in (*NO_NUMBERS, "0", "201"):
        assert_problem(api.get(f"/api/projects?limit={limit}"), 400, "invalid", field="limit")


@pytest.mark.parametrize("route", ["create", "control"])
def test_a_bad_wait_is_named(send: Sender, route: str) -> None:
    _, path, good = send.routes[route]
    for wait in (*NO_NUMBERS, "31"):
        assert_problem(send.api.post(f"{path}?wait={wait}", good), 400, "invalid", field="wait")


def test_a_bad_restart_is_named(send: Sender) -> None:
    _, path, good = send.routes["change"]
    for restart in ("", "1", "yes", "True", "TRUE", "null", "%00", "true%20", "truetrue"):
        assert_problem(send.api.patch(f"{path}?restart={restart}", good), 400, "invalid", field="restart")


ACCEPTS = [
    "", "x", "/", ";", "text/html", "application/xml", "application/json;q=x", ";;;=,,,", "ü", "*", "a" * 5000,
    "application/json; indent=x", "application/json; indent=999999999", "text/*;q=0.3, */*;q=0",
]  # fmt: skip


def test_an_odd_accept_header_is_answered_in_json_or_with_a_406(api: APIClient) -> None:
    for accept in ACCEPTS:
        answer = api.get("/api/projects", headers={"accept": accept})
        if answer.status_code == 200:
            assert answer.json()
        else:
            assert_problem(answer, 406, "not_acceptable")


def test_an_odd_query_is_refused_in_a_sentence(api: APIClient) -> None:
    for query in ("format=xml", "format=json", "format=", "%00", "a=%ff&b=%00", "=", "token=x", "limit=1&limit=2"):
        assert_problem(api.get(f"/api/projects?{query}"), 400, "invalid")
    assert api.get("/api/projects?&&&").status_code == 200


def test_a_query_of_thousands_of_parameters_is_refused(api: APIClient) -> None:
    assert_problem(api.get("/api/projects?" + "a=1&" * 1001), 400, "invalid")


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "a\nb", "<script>", "ü"])
def test_a_request_id_that_is_not_sane_is_replaced(api: APIClient, sent: str) -> None:
    answer = api.get("/api/projects/x", headers={"x-request-id": sent})
    assert assert_problem(answer, 404, "not_found")["request_id"] != sent
