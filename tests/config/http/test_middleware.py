"""Ids, logs, limits, and the headers of every answer."""

import json
import logging
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from config.http.request_bodies import bound_chunked_bodies

LIMIT = 64 * 1024


def access_lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "berth.access"]


def test_every_answer_has_a_unique_id(client: Client) -> None:
    first, second = client.get("/healthz")["X-Request-ID"], client.get("/healthz")["X-Request-ID"]
    assert len(first) == 32
    assert first != second


@pytest.mark.parametrize("sent", ["abc", "A-Z.0_9", "x" * 64])
def test_a_sane_id_of_the_client_is_kept(client: Client, sent: str) -> None:
    assert client.get("/healthz", headers={"x-request-id": sent})["X-Request-ID"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 65, "two words", "a\nb", "<script>", "é"])
def test_any_other_id_is_replaced(client: Client, sent: str) -> None:
    assert client.get("/healthz", headers={"x-request-id": sent})["X-Request-ID"] != sent


def test_the_access_log_has_the_path_but_not_its_query(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get("/api/nothing?secret=1", headers={"x-request-id": "mine"})
    [line] = access_lines(caplog)
    assert line.getMessage().startswith("GET /api/nothing 404 ")
    assert (line.method, line.path, line.status) == ("GET", "/api/nothing", 404)  # type: ignore[attr-defined]  # our own fields


def test_a_path_with_line_breaks_stays_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get("/api/a%0d%0aINFO forged")
    [line] = access_lines(caplog)
    assert "\n" not in line.getMessage()
    assert "\r" not in line.getMessage()


def test_health_checks_are_logged_only_at_debug_level(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get("/healthz")
    assert [line.levelno for line in access_lines(caplog)] == [logging.DEBUG]


@pytest.mark.parametrize("path", ["/healthz", "/api/nothing", "/nothing", "/admin/login/"])
@pytest.mark.django_db
def test_answers_are_kept_by_no_cache(client: Client, path: str) -> None:
    assert client.get(path)["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_the_schema_may_be_cached(client: Client) -> None:
    assert "public" in client.get("/api/schema")["Cache-Control"]


OWN, OF_OTHERS = "localhost:8000", "evil.example"


@pytest.mark.django_db
@pytest.mark.parametrize("host", [OWN, OF_OTHERS])
@pytest.mark.parametrize("path", ["/healthz", "/api/nothing", "/nothing", "/static/nothing"])
def test_every_answer_carries_the_security_headers(client: Client, path: str, host: str) -> None:
    answer = client.get(path, headers={"host": host})
    headers = answer.headers
    assert (answer.status_code == 400) == (host != OWN)
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    policy = headers["Content-Security-Policy"]
    assert {part.strip() for part in policy.split(";")} >= {
        "default-src 'none'",
        "script-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    }
    assert "unsafe" not in policy


def test_a_body_over_the_limit_is_refused_unread(client: Client) -> None:
    response = client.post("/api/nothing", b"x" * (LIMIT + 1), content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_body_at_the_limit_is_not(client: Client) -> None:
    assert client.post("/api/nothing", b"x" * LIMIT, content_type="application/json").status_code == 404


def read_chunked(body: bytes, **environ: Any) -> tuple[bytes, str | None, int]:
    """Returns what the application sees of a chunked body, and how much of it was read from the client."""
    source = BytesIO(body)
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], _start: Callable[..., Any]) -> Iterable[bytes]:
        seen.update(body=environ["wsgi.input"].read(), length=environ.get("CONTENT_LENGTH"))
        return []

    given = {"HTTP_TRANSFER_ENCODING": "Chunked", "wsgi.input_terminated": True, "wsgi.input": source, **environ}
    bound_chunked_bodies(application)(given, lambda *_: lambda _: None)
    return seen["body"], seen["length"], source.tell()


def test_a_body_in_chunks_gets_its_length() -> None:
    assert read_chunked(b"{}") == (b"{}", "2", 2)


def test_a_chunked_body_is_read_at_most_one_byte_past_the_limit() -> None:
    _, length, read = read_chunked(b"x" * LIMIT * 10)
    assert (length, read) == (str(LIMIT + 1), LIMIT + 1)


def test_a_server_that_does_not_end_the_input_is_not_read_from() -> None:
    _, length, _ = read_chunked(b"{}", **{"wsgi.input_terminated": False})
    assert length is None


def test_the_limit_is_the_one_that_is_documented() -> None:
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == LIMIT


def test_a_problem_is_json_in_utf_8(client: Client) -> None:
    assert json.loads(client.get("/api/nothing").content.decode())["status"] == 404
