"""Providers that admins add: recognised by the key or chosen, and asked only at their address."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Project, Provider
from projects.rules.named_providers import KEYS, NamedProvider, recognise_provider, takes_keys_of_others
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.canaries import CANARY_API_KEY
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.problem_document import codes_of
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.naming import GROQ, GROQ_KEY, LIST


@pytest.mark.parametrize(("key", "chosen"), [(GROQ_KEY, {}), (CANARY_API_KEY, {"provider": "groq"})])
def test_a_named_provider_is_recognised_or_chosen_and_speaks_the_openai_api(
    engine: MemoryEngine, deploy: Callable[..., Project], groq: FakeProvider, key: str, chosen: dict[str, str]
) -> None:
    project = deploy(apiKey=key, settings=chosen)
    assert (project.provider, project.agent_type.default_model_of("groq")) == ("groq", "llama-4")
    assert groq.requests == [("GET", "/v1/models")]
    found, container = entry_of(engine, project)["provider"], engine.containers[project.container_name]
    assert (found["kind"], found["base"], found["key"]) == ("compatible", groq.api_base, key)
    assert engine.secrets_of(project.container_name)["agent_api_key"].startswith("sk-bvk_")
    assert container.spec is not None
    given = container.spec.environment
    assert (given["AGENT_PROVIDER"], given["AGENT_MODEL"]) == ("openai", "llama-4")
    assert groq.api_base not in str(given)


def test_a_refused_key_and_an_unknown_provider_are_reported(
    api: APIClient, alice: User, engine: MemoryEngine, groq: FakeProvider
) -> None:
    for path in ("/api/projects", "/api/projects/validate"):
        answer = api.post(path, PROJECT | {"apiKey": "gsk_another"})
        assert codes_of(answer) == {("apiKey", "rejected")}
        for unknown in ("mistral", groq.api_base):
            answer = api.post(path, PROJECT | {"settings": {"provider": unknown}})
            assert codes_of(answer) == {("settings.provider", "enum")}
            assert "anthropic, openai, openrouter, groq" in answer.json()["errors"][0]["detail"]
    (shipped,) = [each for each in api.get("/api/types").json() if each["slug"] == "assistant"]
    assert shipped["settings_schema"]["properties"]["provider"]["enum"][-1] == "groq"
    page = browser_of(alice)
    assert 'value="&quot;groq&quot;"' in page.get("/projects/new").content.decode()
    told = page.post("/projects/new/provider", {"type": "assistant", "plan": "pro", "api_key": GROQ_KEY})
    assert "A key of <strong>groq</strong>" in told.content.decode()
    assert "<code>llama-4</code>" in told.content.decode()


def test_without_the_gateway_the_agent_gets_the_provider_s_url(
    engine: MemoryEngine, deploy: Callable[..., Project], groq: FakeProvider, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    container = engine.containers[deploy(apiKey=GROQ_KEY).container_name]
    assert container.spec is not None
    assert container.spec.environment["AGENT_API_BASE"] == groq.api_base


@pytest.mark.parametrize("gateway", [True, False])
def test_the_key_of_a_deleted_provider_is_sent_nowhere_else(
    api: APIClient,
    engine: MemoryEngine,
    deploy: Callable[..., Project],
    groq: FakeProvider,
    settings: Any,
    gateway: bool,
) -> None:
    """For example if staff delete it while the first project with such a key is being created."""
    settings.BERTH_GATEWAY = gateway
    project = deploy(apiKey=GROQ_KEY)
    Provider.objects.all().delete()
    answer = api.post(f"/api/projects/{project.pk}/control", {"action": "restart"})
    assert "The provider groq no longer exists. Choose another in the settings." in answer.content.decode()


def test_a_changed_url_reaches_the_gateway_and_a_used_provider_cannot_be_deleted(
    engine: MemoryEngine, deploy: Callable[..., Project], groq: FakeProvider, admin: Client
) -> None:
    project = deploy(apiKey=GROQ_KEY)
    page = admin.get(LIST).content.decode()
    assert "1 project" in page
    answer = admin.post(f"{LIST}groq/change/", GROQ | {"key_prefix": "new_"})
    assert Provider.objects.get().key_prefix == "gsk_"
    assert answer.status_code == 302, answer.content.decode()
    look_after_gateway()
    assert entry_of(engine, project)["provider"]["base"] == "https://api.groq.example/openai/v1"
    assert admin.post(f"{LIST}groq/delete/", {"post": "yes"}).status_code == 403
    Project.objects.all().delete()
    assert admin.post(f"{LIST}groq/delete/", {"post": "yes"}).status_code == 302
    assert not Provider.objects.exists()


REFUSED = {
    "slug": ["openai", "anthropic", "Groq", "a b", ""],
    "key_prefix": ["sk-", "sk-ant-", "sk-or-v1-", "sk-proj-", "sk-b", "s", "gsk _"],
    "base_url": [
        "http://api.groq.example/v1",
        "https://groq.internal/v1",
        "https://a@b.example",
        "ftp://a.example",
        "x",
    ],
    "default_model": ["", "a model"],
    "title": ["", "Groq\u202e"],
}


@pytest.mark.parametrize("field", REFUSED)
@pytest.mark.django_db
def test_a_url_that_would_misdirect_keys_is_refused(admin: Client, field: str) -> None:
    for value in REFUSED[field]:
        answer = admin.post(f"{LIST}add/", GROQ | {field: value})
        assert answer.status_code == 200, value
        assert f'id="id_{field}_error"' in answer.content.decode(), value
        assert not Provider.objects.exists()


@pytest.mark.django_db
def test_a_prefix_of_another_provider_is_refused_with_a_sentence(admin: Client, groq: FakeProvider) -> None:
    page = admin.post(f"{LIST}add/", GROQ | {"slug": "other"}).content.decode()
    assert "Another provider has this prefix." in page
    assert "onstraint" not in page
    assert admin.post(f"{LIST}add/", GROQ | {"slug": "other", "key_prefix": ""}).status_code == 302
    assert admin.post(f"{LIST}add/", GROQ | {"slug": "third", "key_prefix": ""}).status_code == 302


def test_private_addresses_must_be_allowed_explicitly_and_only_by_admins(admin: Client, sam: User) -> None:
    here = GROQ | {"slug": "ollama", "key_prefix": "", "base_url": "http://groq.internal:11434/v1", "is_private": "on"}
    assert admin.post(f"{LIST}add/", here).status_code == 302
    assert Provider.objects.get().base_url == "http://groq.internal:11434/v1"
    staff = browser_of(sam)
    assert staff.get(LIST).status_code == 200
    assert staff.post(f"{LIST}add/", GROQ).status_code == 403


def test_the_longest_key_prefix_counts_and_no_provider_gets_another_s_keys() -> None:
    begins = ["a", "ab", "abc", "gsk_", "sk-x", "skx", "x"]
    for chosen in itertools.combinations(begins, 3):
        named = {f"of-{begin}": NamedProvider(base_url="", key_prefix=begin) for begin in chosen}
        for key in (f"{begin}{rest}" for begin in (*begins, *KEYS, "sk-", "") for rest in ("", "b", "bc", "z1")):
            fitting = [begin for begin in (*chosen, *KEYS) if key.startswith(begin) and begin != "sk-x"]
            longest = max(fitting, key=len, default="")
            expected = KEYS.get(longest) or (f"of-{longest}" if longest else "openai")
            assert recognise_provider(key, named) == expected
    assert all(takes_keys_of_others(begin) for begin in ("s", "sk-", "sk-a", "sk-b", "sk-ant-x", "sk-or-", "sk-proj-1"))
    assert not any(takes_keys_of_others(begin) for begin in ("gsk_", "sky", "sk_", "AIza"))
