"""Addresses that contain a credential leave none of it in the log, no matter what happens to the request.

Clients put keys and tokens into addresses, and a set-password link is one. Libraries also log requests that match no
route, are refused before a route is looked up, or break.
"""

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from accounts.services.set_password_links import make_set_password_link
from config.logs.formatting import JsonFormatter, TextFormatter
from tests.config import probe_urls
from tests.factories import ApiKeyFactory, plain_key

pytestmark = pytest.mark.one_database

SECRETS: dict[str, Callable[[User], str]] = {
    "link": lambda user: make_set_password_link(user=user, by=user).rsplit("/", 1)[1],
    "API key": lambda user: plain_key(ApiKeyFactory.create(user=user)),
    "session token": issue_session,
    "bot token": lambda _: "123456789:AAabcdefghijklmnopqrstuvwxyz012345678",
    "provider's key": lambda _: "sk-ant-api03-" + "a1" * 20,
}
PATHS = ("/set-password/OGY3/{}", "/set-password/OGY3/{}/", "/api/projects/{}", "/api/{}", "/{}/x", "//{}", "/probe/{}")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
LARGE = b"x" * 70_000
DECISIVE_STATES = 8
"""From this many characters on, the part after the last marker of a credential is not in a log line by chance."""
CHOSEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""The ids of requests that clients may choose. Any other one is replaced."""

WAYS: dict[str, Callable[[Client, str, str], Any]] = {
    "as it is": lambda client, method, path: client.generic(method, path),
    "for another host": lambda client, method, path: client.generic(method, path, headers={"host": "evil.example"}),
    "with a large body": lambda client, method, path: client.generic(method, path, LARGE, "application/json"),
    "as the request's id": lambda client, method, path: client.generic(
        method, "/healthz", headers={"x-request-id": path.strip("/").split("/")[-1]}
    ),
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Everything that was logged, in both formats of the service."""
    formats: tuple[logging.Formatter, ...] = (JsonFormatter(), TextFormatter("{request_id} {message}", style="{"))
    caplog.set_level(logging.DEBUG)
    for noisy in ("factory", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.INFO)

    def read() -> str:
        for record in caplog.records:
            record.__dict__.setdefault("request_id", "-")
        return "\n".join(each.format(record) for record in caplog.records for each in formats)

    return read


@pytest.mark.rare(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SECRETS)
def test_no_credential_in_a_url_is_logged(alice: User, logged: Callable[[], str], name: str, way: str) -> None:
    secret = SECRETS[name](alice)
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    for path in PATHS:
        for method in METHODS:
            WAYS[way](client, method, path.format(secret))
    text = logged()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert sum(line["logger"] == "berth.access" for line in lines) == len(PATHS) * len(METHODS)
    assert ("[redacted]" in text) == (way != "as the request's id" or bool(CHOSEN_ID.fullmatch(secret)))
    parts = {secret, *(secret.rpartition(mark)[2] for mark in "-:.")}
    assert not [part for part in parts if len(part) >= DECISIVE_STATES and part in text]


@pytest.mark.urls("tests.config.probe_urls")
@pytest.mark.parametrize("name", SECRETS)
def test_no_credential_in_a_url_is_logged_when_the_service_breaks(
    alice: User, logged: Callable[[], str], name: str
) -> None:
    secret = SECRETS[name](alice)
    for path in ("/api/probe", "/probe"):
        probe_urls.raised[:] = [ValueError(f"nothing at /set-password/OGY3/{secret}")]
        assert Client(raise_request_exception=False).get(path).status_code == 500
    probe_urls.raised.clear()
    assert "Traceback" in logged()
    assert secret not in logged()
