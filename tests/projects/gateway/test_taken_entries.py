"""What Berth accepts, the gateway takes: each field of an entry, with every kind of character, in every way in."""

import unicodedata
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.test import Client
from gateway.entries.entry import _BOT_TOKEN, read_entry
from gateway.entries.fields import HEADER_SAFE, EntryError, read_base
from rest_framework.test import APIClient

from accounts.models import User
from config.environment import addresses
from containers.gateway.entries import API_KEY, BOT_TOKEN
from projects.credentials.encryption import encrypt_secret
from projects.models import AgentType, Event, ModelPrice, Plan, Project, Provider
from projects.rules.budget import MOST_MONEY, MOST_TOKENS
from projects.rules.permissions import read_hosts, read_models
from projects.services.gateway.entry import make_entry, read_prices
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.problem_document import codes_of
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.naming import GROQ
from tests.projects.hidden_characters import sample

pytestmark = pytest.mark.django_db

KEY, TOKEN = "sk-CANARY{}key", "987654321:AAcanary{}token"
FORMS: dict[str, Any] = {"apiKey": (KEY, API_KEY, HEADER_SAFE), "telegramToken": (TOKEN, BOT_TOKEN, _BOT_TOKEN)}
FIELDS = {"apiKey": "api_key", "telegramToken": "telegram_token"}


def of_each_category() -> Iterable[str]:
    """Yields a character of each category of Unicode, in Latin-1 and beyond it, except half surrogate pairs."""
    seen: set[tuple[str, bool]] = set()
    for number in range(0x20000):
        kind = unicodedata.category(chr(number)), number < 256
        if kind not in seen and kind[0] != "Cs":
            seen.add(kind)
            yield chr(number)


CHARACTERS = [*of_each_category(), *"+/ %?#@:\\~\u200b\ufeff\u202e\u00a0\u3000я🔑"]


@pytest.mark.parametrize("field", FORMS)
def test_the_gateway_takes_each_credential_of_berth_s_form(field: str) -> None:
    form, ours, theirs = FORMS[field]
    for character in {*map(chr, range(0x300)), *sample()}:
        for text in (form.format(character), character + form.format(""), form.format("") + character):
            assert not ours.fullmatch(text) or theirs.fullmatch(text), ascii(text)
    assert ours.fullmatch(form.format("")), "An ordinary one is taken."


@pytest.mark.parametrize("text", ["1" * 18 + ":a", "1" * 19 + ":a", "1:" + "a" * 256, "1:" + "a" * 257, "k" * 4097])
def test_the_lengths_agree(text: str) -> None:
    for _, ours, theirs in FORMS.values():
        assert not ours.fullmatch(text) or theirs.fullmatch(text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", ["create", "validate", "change"])
@pytest.mark.parametrize("field", FORMS)
@pytest.mark.parametrize("place", ["{}=", "={}=", "={}"])
def test_the_api_refuses_what_the_gateway_would(
    api: APIClient, project: Project, field: str, way: str, place: str
) -> None:
    """White space around it is trimmed, as of any text."""
    form, ours, _ = FORMS[field]
    for character in CHARACTERS:
        text = place.replace("=", form.format("")[:12]).format(character)
        fields = {field: text}
        if way == "change":
            answer = api.patch(f"/api/projects/{project.pk}", fields)
        else:
            answer = api.post("/api/projects" + "/validate" * (way == "validate"), PROJECT | {"name": "N"} | fields)
        is_refused = (answer.status_code, codes_of(answer) if answer.status_code == 400 else None) in [
            (400, {(field, code)}) for code in ("malformed", "invalid", "control", "null_characters_not_allowed")
        ]
        assert is_refused != bool(ours.fullmatch(text.strip())), (ascii(text), answer.content)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("character", ["\u200b", " ", "я", "🔑", "\ufeff"])
def test_the_pages_refuse_it_with_one_sentence(alice: User, project: Project, field: str, character: str) -> None:
    page, before = browser_of(alice), Project.objects.values().get()
    sent = {FIELDS[field]: FORMS[field][0].format(character), "name": "N", "plan": "pro", "type": "assistant"}
    for path in ("/projects/new", f"/projects/{project.pk}/change"):
        answer = page.post(path, sent)
        assert answer.status_code == 400
        assert "This is not a" in str(answer.context["form"].errors[FIELDS[field]])
    assert Project.objects.values().get() == before


def test_a_whole_entry_with_the_most_that_every_field_takes_is_taken(deploy: Callable[..., Project]) -> None:
    most = {"day_tokens": MOST_TOKENS, "month_tokens": MOST_TOKENS, "day_money": MOST_MONEY, "month_money": MOST_MONEY}
    Plan.objects.filter(slug="pro").update(**most)
    AgentType.objects.update(allowed_hosts="\n".join(read_hosts("bücher.example\nA.EXAMPLE:8443\nxn--p1ai.xn--p1ai")))
    AgentType.objects.update(allowed_models="\n".join(read_models('openai/gpt-5\nweird"name\\~!')))
    for name in ("gpt-5", "Модель", "a b", "👩‍🚀"):
        price = ModelPrice(model=name, input=Decimal(100_000), output=Decimal(0), cached=None)
        price.full_clean()
        price.save()
    project = deploy(telegramToken="1:" + "a" * 254, apiKey=("!~" * 512))
    entry = make_entry(project, prices=read_prices(), knows_sources=True)
    read = read_entry(entry.as_document())
    assert read.provider is not None
    assert read.provider.key == "!~" * 512
    assert len(read.prices) == 4


ADDRESSES = ["https://h.example/v1" + rest for rest in ("", "/", "?", "#", "/@x", "/a%20b", "/~!$&'()*+,;=:", "/\\")]


@pytest.mark.parametrize("address", [*ADDRESSES, "https://u@h.example", "https://h.example:0", "https://", "ftp://h"])
def test_the_gateway_takes_each_address_that_berth_does(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of added providers, and of Telegram and the provider in the settings of the service."""
    try:
        read_base(address)
    except EntryError:
        with pytest.raises(ValidationError):
            Provider(**{**GROQ, "base_url": address}).full_clean()
        monkeypatch.setenv("BERTH_PROVIDER_API", address)
        with pytest.raises(ImproperlyConfigured):
            addresses.url("BERTH_PROVIDER_API", ("http", "https"))
    else:
        Provider(**{**GROQ, "base_url": address}).full_clean()


def with_a_former_key(project: Project) -> None:
    """As a version stored it that did not look at the characters."""
    column = encrypt_secret(project_id=project.pk, field="api_key", value="\u200b" + CANARY_API_KEY)
    Project.objects.filter(pk=project.pk).update(api_key_ciphertext=column)


def test_a_start_with_a_former_malformed_key_asks_for_it_again(
    api: APIClient, engine: MemoryEngine, project: Project
) -> None:
    with_a_former_key(project)
    answer = api.post(f"/api/projects/{project.pk}/control", {"action": "restart"})
    assert answer.status_code == 409
    assert answer.json()["code"] == "secret_unreadable"
    assert "Set them again" in answer.json()["detail"]
    assert api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "start"}).json()["status"] == "running"
    assert entry_of(engine, project)["provider"]["key"] == CANARY_OTHER_API_KEY


def test_a_refused_entry_is_reported_to_the_owner_and_the_staff(
    api: APIClient, ada: User, engine: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = engine.gateway_program._apply

    def strictly(message: dict[str, Any]) -> dict[str, Any]:
        try:
            list(map(read_entry, message.get("entries", [])))
        except EntryError as error:
            return {"ok": False, "error": str(error)}
        return apply(message)

    monkeypatch.setattr(engine.gateway_program, "_apply", strictly)
    with_a_former_key(project)
    assert api.patch(f"/api/projects/{project.pk}", {"budget": {"day_tokens": 1}}).status_code == 200
    event = Event.objects.filter(project_id=project.pk, action="gateway").get()
    assert "The gateway refuses it: provider.key" in event.detail
    assert "Send the credentials again" in event.detail
    look_after_gateway()
    overview = Client.get(browser_of(ada), "/admin/").content.decode()
    assert "refuses what it is told about some agents" in overview
    assert str(project.pk) in overview
    assert CANARY_TELEGRAM_TOKEN not in overview
