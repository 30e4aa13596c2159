"""Page views of a signed-in user count like reads of the API, and together with them."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver

from accounts.models import User
from tests.accounts.throttling.rate_limiting import Clock
from tests.factories import ApiKeyFactory, UserFactory, plain_key
from tests.sampling import Some

pytestmark = [pytest.mark.usefixtures("real_limits", "clock"), pytest.mark.one_database]
LIMIT = 2
IDS = {"uuid": str(uuid.UUID(int=1)), "int": "1", "path": "1", "string": "x", "slug": "x"}


def find_pages(resolver: URLResolver, prefix: str = "") -> list[str]:
    """Returns the address of every route of the pages and the admin, with an id that does not exist."""
    found: list[str] = []
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern).removeprefix("^").removesuffix("$")
        if isinstance(entry, URLResolver):
            found += find_pages(entry, route)
        elif "(?" not in route:
            for name, converter in entry.pattern.converters.items():
                kind = type(converter).__name__.removesuffix("Converter").lower()
                for spelling in (kind, "str"):
                    route = route.replace(f"<{spelling}:{name}>", IDS[kind])
                route = route.replace(f"<{name}>", IDS[kind])
            found.append(f"/{route}")
    return found


UNCOUNTED = ("/api/", "/healthz", "/readyz", "/metrics", "/static/", "/cli")
"""The API counts by itself. Nobody signs in for the others, each of which is a file or a few lines."""
PAGES = sorted(path for path in find_pages(get_resolver()) if not path.startswith(UNCOUNTED))


@pytest.fixture
def two_reads(settings: Any) -> None:
    settings.BERTH_LIMITS = {"reads": LIMIT}


def test_there_are_pages() -> None:
    assert {"/", "/settings", "/projects/new", "/admin/", f"/projects/{uuid.UUID(int=1)}"} <= set(PAGES)


def test_every_page_is_counted(db: None, two_reads: None) -> None:
    client = Client()
    client.force_login(UserFactory.create(admin=True))
    for _ in range(LIMIT):
        assert client.get("/settings").status_code == 200
    for path in PAGES:
        refused = client.get(path)
        assert refused.status_code == 429, path
        assert refused["Retry-After"] == "50", path
        assert refused["RateLimit"] == '"reads";r=0;t=50', path
        assert "Wait 50 seconds" in refused.content.decode(), path


READING, CHANGING = ("HEAD", "OPTIONS", "TRACE"), ("POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize("method", READING)
def test_pages_are_limited_for_every_reading_method(db: None, two_reads: None, some: Some, method: str) -> None:
    """Many views of the admin answer any method with their page, and none of these needs a form's token. A run requests
    each page by one of the methods."""
    client = Client()
    client.force_login(UserFactory.create(admin=True))
    for _ in range(LIMIT):
        client.get("/settings")
    pages = some(PAGES, one_in=len(READING), first=READING.index(method))
    assert {path: client.generic(method, path).status_code for path in pages} == dict.fromkeys(pages, 429)


ALWAYS = {"/sign-out", "/admin/logout/", "/settings/sign-out-everywhere"}
END_ONE = f"/settings/sessions/{uuid.UUID(int=1)}/end"
"""What a thief of a session must not be able to block."""
ASKS_OUTSIDE = {"/projects/new", "/projects/new/check", "/projects/new/bot"}
ASKS_NOBODY = {"/projects/new/provider", "/projects/new/settings"}


@pytest.mark.parametrize("method", CHANGING)
def test_every_form_is_counted(db: None, settings: Any, some: Some, method: str) -> None:
    """A run sends each form by two of the methods."""
    settings.BERTH_LIMITS = {"reads": 0, "commands": 0, "deploys": 0}
    client = Client()
    client.force_login(UserFactory.create(admin=True))
    forms = some(sorted({*PAGES} - ALWAYS - {END_ONE}), one_in=2, first=CHANGING.index(method))
    answers = {path: client.generic(method, path) for path in forms}
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(forms, 429)
    scopes = {path: answer["RateLimit"].split('"')[1] for path, answer in answers.items()}
    others = {path: scope for path, scope in scopes.items() if scope != "commands"}
    expected = dict.fromkeys(ASKS_OUTSIDE, "deploys") | dict.fromkeys(ASKS_NOBODY, "reads")
    assert others == {path: scope for path, scope in expected.items() if path in forms}


@pytest.mark.parametrize("path", sorted(ALWAYS))
def test_ending_a_session_is_never_limited(client: Client, db: None, settings: Any, path: str) -> None:
    settings.BERTH_LIMITS = {"reads": 0, "commands": 0, "deploys": 0}
    client.force_login(UserFactory.create(admin=True))
    assert client.post(path).status_code == 302
    assert "_auth_user_id" not in client.session


def test_ending_one_session_is_never_limited(client: Client, alice: User, settings: Any) -> None:
    settings.BERTH_LIMITS = {"reads": 0, "commands": 0, "deploys": 0}
    client.force_login(alice)
    assert client.post(END_ONE).status_code == 404  # no such id exists
    assert END_ONE in PAGES


def test_pages_and_the_api_share_one_count(client: Client, alice: User, two_reads: None) -> None:
    client.force_login(alice)
    headers = {"Authorization": f"Bearer {plain_key(ApiKeyFactory.create(user=alice))}"}
    assert client.get("/").status_code == 200
    assert Client().get("/api/projects", headers=headers).status_code == 200
    assert client.get("/").status_code == 429
    assert Client().get("/api/projects", headers=headers).status_code == 429


def test_no_other_user_is_limited(client: Client, alice: User, bob: User, two_reads: None) -> None:
    client.force_login(alice)
    assert [client.get("/").status_code for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    client.force_login(bob)
    assert client.get("/").status_code == 200


def test_visitors_are_not_counted(client: Client, db: None, two_reads: None) -> None:
    assert {client.get("/sign-in").status_code for _ in range(LIMIT + 2)} == {200}


def test_health_checks_are_not_counted(client: Client, alice: User, two_reads: None) -> None:
    client.force_login(alice)
    assert {client.get("/healthz").status_code for _ in range(LIMIT + 2)} == {200}


def test_signing_out_is_always_possible(client: Client, alice: User, two_reads: None, clock: Clock) -> None:
    client.force_login(alice)
    for _ in range(LIMIT + 1):
        client.get("/")
    assert client.post("/sign-out").status_code == 302
