"""The provider's answer about an API key before anything is deployed."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.identity import container_name
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.problem_document import assert_problem, codes_of
from tests.projects.credentials.outages import assert_nothing_made, warnings_of

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


@pytest.mark.parametrize(
    ("key", "asked_as", "path"),
    [
        ("sk-ant-api03-x", "anthropic", "/v1/models"),
        ("sk-or-v1-x", "openrouter", "/v1/key"),
        ("sk-proj-x", "openai", "/v1/models"),
        ("anything-else", "openai", "/v1/models"),
    ],
)
def test_the_provider_is_recognised_from_the_key(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, key: str, asked_as: str, path: str
) -> None:
    provider.add_key(key)
    answer = api.post("/api/projects", body | {"apiKey": key})
    assert (answer.status_code, answer.json()["provider"]) == (201, asked_as)
    assert provider.requests == [("GET", path)]
    assert [(asked.vendor, asked.key) for asked in provider.asked(None)] == [(asked_as, key)]


@pytest.mark.parametrize("chosen", ["anthropic", "openai", "openrouter"])
def test_the_settings_override_the_provider_recognised_from_the_key(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, engine: MemoryEngine, chosen: str
) -> None:
    answer = api.post("/api/projects", body | {"settings": {"provider": chosen}})
    assert (answer.status_code, answer.json()["provider"]) == (201, chosen)
    assert [asked.vendor for asked in provider.asked(None)] == [chosen]
    spec = engine.containers[container_name(answer.json()["id"])].spec
    assert spec is not None
    assert spec.environment["AGENT_PROVIDER"] == chosen


@pytest.mark.parametrize("key", [CANARY_OTHER_API_KEY, "sk-ant-unknown", "sk-or-unknown", "x"])
@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_a_key_that_the_provider_refuses_is_a_400(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, path: str, key: str
) -> None:
    answer = api.post(path, body | {"apiKey": key}, headers={"idempotency-key": "k"})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("apiKey", "rejected")}
    assert_nothing_made(engine)


PROVIDER_OUTAGES: dict[str, Callable[[FakeProvider], object]] = {
    "429": lambda provider: provider.rate_limit(),
    "500": lambda provider: provider.break_down(500),
    "502 in HTML": lambda provider: provider.break_down(502),
    "529": lambda provider: provider.break_down(529),
    "silence": lambda provider: provider.stall(),
    "nobody there": lambda provider: provider.stop(),
}


@pytest.mark.parametrize("outage", PROVIDER_OUTAGES.values(), ids=PROVIDER_OUTAGES.keys())
def test_a_provider_out_of_order_only_warns(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, outage: Callable[[FakeProvider], object]
) -> None:
    outage(provider)
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == ["provider_unverified"]
    assert answer.json()["status"] == "running"


@pytest.mark.parametrize("status", [403, 404])
def test_only_a_definite_refusal_counts(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, status: int
) -> None:
    """A key may be right and not allowed to list models."""
    provider.answer_with(status, {"error": "not for you"})
    assert warnings_of(api.post("/api/projects", body)) == []


@pytest.mark.parametrize("key", ["ключ", "sk-with blank", "x\u202ey", "\ufeffx", "sk-🔑", "sk-\u00e9"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_sent(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, key: str
) -> None:
    assert codes_of(api.post("/api/projects", body | {"apiKey": key})) == {("apiKey", "malformed")}
    assert provider.requests == []
