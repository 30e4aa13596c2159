"""A provider that an admin has added, and that admin."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from containers import public_http
from containers.outbound import call_limits
from projects.models import Provider
from tests.canaries import CANARY_API_KEY
from tests.clients import browser_of
from tests.fakes.provider import FakeProvider

GROQ_KEY = "gsk_canary0provider0api0key0p5Tj2Bd"
GROQ = {
    "slug": "groq",
    "title": "Groq",
    "base_url": "https://api.groq.example/openai/v1/",
    "key_prefix": "gsk_",
    "default_model": "llama-4",
}
LIST = "/admin/projects/provider/"


@pytest.fixture
def groq(db: None, settings: Any) -> Iterator[FakeProvider]:
    """It is on this machine, and no setting replaces every provider."""
    settings.BERTH_VERIFY_CREDENTIALS, settings.BERTH_PROVIDER_API = True, ""
    settings.BERTH_TELEGRAM_API = "http://127.0.0.1:9"
    with FakeProvider() as fake:
        fake.add_key(GROQ_KEY)
        fake.add_key(CANARY_API_KEY)
        Provider.objects.create(**{**GROQ, "base_url": fake.api_base, "is_private": True})
        yield fake


@pytest.fixture
def admin(ada: User, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Names that end in .example are public here, and those that end in .internal private."""

    real, names = call_limits.resolve, {"example": "8.8.8.8", "internal": "10.0.0.5"}

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        address = names.get(host.rpartition(".")[2])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))] if address else real(host, port)

    monkeypatch.setattr(call_limits, "resolve", resolve)
    monkeypatch.setattr(public_http, "_is_ours", lambda *_: False)
    return browser_of(ada)
