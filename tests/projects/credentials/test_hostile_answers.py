"""Telegram and providers that answer in every hostile way: a warning, in bounded time and memory, and never a 500."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.outbound.call_limits import time_limit
from projects.credentials import verification
from projects.credentials.http_client import ask
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.certificates import make_authority
from tests.fakes.hostile_answers import BODIES, COMPRESSED, NEVER_ENDING, SHAPES, redirect
from tests.fakes.hostile_server import HostileServer
from tests.memory import measure_memory
from tests.problem_document import codes_of

pytestmark = pytest.mark.one_database

LIMIT = 0.15
GUARD = 60.0
"""Seconds: far above the limit here, far below what the hostile answers would take without one."""

MOST_MEMORY = 2 * 1024 * 1024
"""Bytes: a bomb would take fifty million."""

Shorten = Callable[[str], None]

ROUTES = {
    "getMe": ("telegramToken", "/getMe", "telegram_unverified"),
    "getWebhookInfo": ("telegramToken", "/getWebhookInfo", "telegram_unverified"),
    "openai": ("apiKey", "/models", "provider_unverified"),
    "anthropic": ("apiKey", "/models", "provider_unverified"),
    "openrouter": ("apiKey", "/key", "provider_unverified"),
}
"""Every question that the service itself asks: the credential, the end of the path, and the warning."""


@pytest.fixture
def server(settings: Any) -> Iterator[HostileServer]:
    with HostileServer() as server:
        settings.BERTH_VERIFY_CREDENTIALS = True
        settings.BERTH_TELEGRAM_API = settings.BERTH_PROVIDER_API = server.url
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Shorten:
    """Shortens the limit for the hostile side. The other one has enough time on the busiest machine."""

    def shorten(route: str) -> None:
        is_telegram = ROUTES[route][0] == "telegramToken"
        monkeypatch.setattr(verification, "TELEGRAM_LIMIT", LIMIT if is_telegram else GUARD)
        monkeypatch.setattr(verification, "PROVIDER_LIMIT", GUARD if is_telegram else LIMIT)

    return shorten


def validate(api: APIClient, body: dict[str, Any], route: str) -> Any:
    credential = ROUTES[route][0]
    chosen = {"telegramToken": CANARY_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
    provider = {} if credential == "telegramToken" else {"settings": {"provider": route}}
    return api.post("/api/projects/validate", body | chosen | provider)


def warning_codes(answer: Any) -> set[str]:
    assert answer.status_code == 200, answer.content
    return {warning.partition(":")[0] for warning in answer.json()["warnings"]}


@pytest.mark.rare(1)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_answer_is_a_warning_at_most(
    api: APIClient,
    body: dict[str, Any],
    server: HostileServer,
    impatient: Shorten,
    shape: str,
    route: str,
) -> None:
    _, path, warning = ROUTES[route]
    impatient(route)
    server.shapes[path] = SHAPES[shape]
    began = time.monotonic()
    codes = warning_codes(validate(api, body, route))
    assert time.monotonic() - began < GUARD
    assert codes <= {warning}


@pytest.mark.parametrize("shape", [*COMPRESSED, *(shape for shape in NEVER_ENDING if shape.startswith("endless"))])
def test_no_answer_fills_the_memory(server: HostileServer, shape: str) -> None:
    server.shapes["/getMe"] = SHAPES[shape]
    with measure_memory() as peak, time_limit(GUARD):
        ask(f"{server.url}/getMe")
    assert peak.bytes < MOST_MEMORY


@pytest.mark.parametrize("shape", [*BODIES, *NEVER_ENDING, "truncated", "no HTTP", "gzip bomb", "to a file", "nothing"])
def test_an_unreadable_answer_does_not_identify_a_bot(
    api: APIClient, body: dict[str, Any], server: HostileServer, impatient: Shorten, shape: str
) -> None:
    impatient("getMe")
    assert_unknown(api, body, server, shape)


@pytest.mark.parametrize("shape", COMPRESSED)
def test_a_compressed_answer_does_not_count(
    api: APIClient, body: dict[str, Any], server: HostileServer, impatient: Shorten, shape: str
) -> None:
    """All bodies, including an honest one and one that only claims to be compressed."""
    impatient("getMe")
    assert_unknown(api, body, server, shape)


def assert_unknown(api: APIClient, body: dict[str, Any], server: HostileServer, shape: str) -> None:
    """The bot is unknown while Telegram answers like this."""
    server.shapes["/getMe"] = SHAPES[shape]
    answer = validate(api, body, "getMe")
    assert warning_codes(answer) == {"telegram_unverified"}
    assert answer.json()["bot"]["username"] == ""


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_redirects_to_another_host_are_not_followed(
    api: APIClient, body: dict[str, Any], server: HostileServer, route: str, status: int
) -> None:
    with HostileServer() as other:
        server.shapes[ROUTES[route][1]] = redirect(f"{other.url}/stolen", status)
        answer = validate(api, body, route)
        assert other.requests == []
    assert warning_codes(answer) <= {ROUTES[route][2]}


def test_a_refusal_counts_with_any_hostile_body(api: APIClient, body: dict[str, Any], server: HostileServer) -> None:
    server.shapes["/getMe"] = lambda good: iter((b"HTTP/1.1 401 X\r\nContent-Length: 9\r\n\r\n[[[[",))
    answer = validate(api, body, "getMe")
    assert codes_of(answer) == {("telegramToken", "rejected")}


def test_only_the_head_of_a_providers_answer_is_read(
    api: APIClient, body: dict[str, Any], server: HostileServer
) -> None:
    server.shapes["/models"] = SHAPES["a byte of the body now and then"]
    assert warning_codes(validate(api, body, "openai")) == set()


@pytest.mark.parametrize("shape", ["a byte now and then", "endless headers", "gzip bomb", "half, then silence"])
def test_limits_hold_over_tls_too(
    api: APIClient,
    body: dict[str, Any],
    server: HostileServer,
    shape: str,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority = make_authority(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate))
    with HostileServer(authority.server_context()) as secure:
        settings.BERTH_TELEGRAM_API = secure.url
        monkeypatch.setattr(verification, "TELEGRAM_LIMIT", GUARD)
        assert warning_codes(validate(api, body, "getMe")) == set()
        monkeypatch.setattr(verification, "TELEGRAM_LIMIT", LIMIT)
        secure.shapes["/getMe"] = SHAPES[shape]
        began = time.monotonic()
        assert warning_codes(validate(api, body, "getMe")) == {"telegram_unverified"}
        assert time.monotonic() - began < GUARD
