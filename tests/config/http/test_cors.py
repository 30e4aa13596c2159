"""Pages of the origins in BERTH_CORS_ORIGINS may call the API in a browser, and no others."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings
from rest_framework.test import APIClient

from config.environment import addresses

pytestmark = pytest.mark.one_database

NAMED, OTHER = "https://app.example.org", "https://evil.example.org"
ASKED = {"access-control-request-method": "PATCH", "access-control-request-headers": "authorization,content-type"}
TOLD = "Access-Control-Allow-Origin"


@pytest.fixture
def _named() -> Iterator[None]:
    at = settings.MIDDLEWARE.index("config.http.hosts.LoopbackHostMiddleware")
    middleware = [*settings.MIDDLEWARE]
    middleware.insert(at, "corsheaders.middleware.CorsMiddleware")
    with override_settings(MIDDLEWARE=middleware, CORS_ALLOWED_ORIGINS=[NAMED]):
        yield


@pytest.mark.usefixtures("_named")
def test_a_named_origin_may_read_answers_of_the_api(api: APIClient) -> None:
    for path in ("/api/projects", "/api/projects?limit=x", "/api/nothing", "/api/auth/session"):
        answer = api.get(path, headers={"origin": NAMED})
        assert answer[TOLD] == NAMED, path
        assert "ETag" in answer["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer
        assert "origin" in answer["Vary"].lower()


@pytest.mark.usefixtures("_named")
def test_a_preflight_is_answered_without_a_token(client: Client) -> None:
    answer = client.options("/api/projects/x", headers={"origin": NAMED, **ASKED})
    assert (answer.status_code, answer[TOLD]) == (200, NAMED)
    assert "PATCH" in answer["Access-Control-Allow-Methods"]
    assert {"authorization", "idempotency-key", "last-event-id"} <= set(
        answer["Access-Control-Allow-Headers"].split(", ")
    )


@pytest.mark.usefixtures("_named")
@pytest.mark.parametrize(
    "origin", [OTHER, "null", f"{NAMED}.evil.example", f"{NAMED}:444", "http://app.example.org", "*"]
)
def test_no_other_origin_is(api: APIClient, client: Client, origin: str) -> None:
    assert TOLD not in api.get("/api/projects", headers={"origin": origin})
    assert TOLD not in client.options("/api/projects", headers={"origin": origin, **ASKED})


@pytest.mark.usefixtures("_named")
@pytest.mark.django_db
def test_pages_and_the_admin_are_closed_to_other_origins(client: Client) -> None:
    for path in ("/sign-in", "/admin/", "/healthz", "/", "/static/x"):
        assert TOLD not in client.get(path, headers={"origin": NAMED}), path


def test_by_default_no_origin_is_named(api: APIClient) -> None:
    assert settings.CORS_ALLOWED_ORIGINS == []
    assert TOLD not in api.get("/api/projects", headers={"origin": NAMED})


@pytest.mark.parametrize("good", ["", NAMED, f"{NAMED}, http://localhost:3000", "https://[::1]:8443"])
def test_origins_are_read(monkeypatch: Any, good: str) -> None:
    monkeypatch.setenv("BERTH_CORS_ORIGINS", good)
    assert addresses.origins("BERTH_CORS_ORIGINS") == [each.strip() for each in good.split(",") if each]


@pytest.mark.parametrize(
    "bad", ["*", "null", "app.example.org", f"{NAMED}/", f"{NAMED}/x", f"{NAMED}:443", "https://App.example.org",
            "https://u:p@app.example.org", "ftp://x", "https://", f"{NAMED}?x", f"{NAMED}#", "https://*.example.org", "http://x:99999"],
)  # fmt: skip
def test_an_invalid_origin_prevents_the_start(monkeypatch: Any, bad: str) -> None:
    monkeypatch.setenv("BERTH_CORS_ORIGINS", bad)
    with pytest.raises(ImproperlyConfigured, match="BERTH_CORS_ORIGINS"):
        addresses.origins("BERTH_CORS_ORIGINS")
