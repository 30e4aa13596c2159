"""What the form of a new project shows while it is filled in, and during its deploy."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.credentials import bot_picture, verification
from projects.credentials.http_client import Answer
from projects.models import AgentType, Event, Plan, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import Fields, path_of, text_of

HTMX = {"HX-Request": "true"}
PIECES = ("bot", "provider", "settings", "check")


@pytest.fixture
def telegram(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """The answers of Telegram, in order; then none."""
    settings.BERTH_VERIFY_CREDENTIALS = True
    answers: list[Answer] = []
    monkeypatch.setattr(verification, "ask", lambda *_asked, **_how: answers.pop(0) if answers else Answer())
    monkeypatch.setattr(bot_picture, "ask", lambda *_asked: Answer())
    return answers


def ask_about(dashboard: Client, token: str) -> str:
    return text_of(dashboard.post("/projects/new/bot", {"telegram_token": token}))


def test_the_bot_is_named_and_a_bad_token_is_reported(dashboard: Client, telegram: list[Answer], deploy: Any) -> None:
    me = Answer(status=200, body={"result": {"id": 1, "username": "harbour_pilot_bot"}})
    telegram += [me, Answer(status=200, body={"result": {"url": ""}})]
    assert ask_about(dashboard, CANARY_TELEGRAM_TOKEN) == "✓ @harbour_pilot_bot"
    telegram += [Answer(status=401)]
    assert "Telegram refused the bot token." in ask_about(dashboard, CANARY_TELEGRAM_TOKEN)
    assert "could not be checked" in ask_about(dashboard, CANARY_TELEGRAM_TOKEN)
    assert "This is not a bot token." in ask_about(dashboard, "nonsense")
    assert ask_about(dashboard, "") == ask_about(dashboard, "1" * 300) == ""
    deploy()
    assert "Your project “Harbour pilot” already runs this Telegram bot" in ask_about(dashboard, CANARY_TELEGRAM_TOKEN)


def test_messages_about_credentials_have_no_codes_and_claim_no_unverified_success(
    dashboard: Client, telegram: list[Answer], fields: Fields, settings: Any
) -> None:
    sentence = "Telegram did not answer, so the bot token could not be checked."
    assert ask_about(dashboard, CANARY_TELEGRAM_TOKEN) == sentence
    checked = text_of(dashboard.post("/projects/new/check", fields))
    assert sentence in checked
    assert "unverified" not in checked
    telegram += [Answer(status=200, body={"result": {"id": 1}}), Answer()]
    assert ask_about(dashboard, CANARY_TELEGRAM_TOKEN) == "✓ bot 987654321"
    settings.BERTH_VERIFY_CREDENTIALS = False
    assert ask_about(dashboard, CANARY_TELEGRAM_TOKEN) == "bot 987654321"


@pytest.mark.parametrize("token", ["123:A", CANARY_TELEGRAM_TOKEN[:-6]])
def test_telegram_is_not_asked_about_a_token_that_is_still_typed(
    dashboard: Client, telegram: list[Answer], token: str
) -> None:
    telegram += [Answer(status=401)]
    assert ask_about(dashboard, token) == ""
    assert len(telegram) == 1


def test_a_bot_in_use_is_reported_only_to_the_holder_of_its_token(
    bob: User, project: Project, telegram: list[Answer]
) -> None:
    client = Client()
    client.force_login(bob)
    assert "Another project" not in ask_about(client, CANARY_TELEGRAM_TOKEN)
    telegram += [Answer(status=200, body={"result": {"id": 1, "username": "a_bot"}}), Answer()]
    assert "Another project" in ask_about(client, CANARY_TELEGRAM_TOKEN)


@pytest.mark.parametrize(
    ("sent", "provider", "default"),
    [
        ({"api_key": "sk-ant-x"}, "anthropic", "claude-haiku-5-5"),
        ({"api_key": "sk-or-x"}, "openrouter", "openrouter/auto"),
        ({"api_key": "sk-x"}, "openai", "gpt-5.4-mini"),
        ({"api_key": "sk-x", "provider": '"anthropic"'}, "anthropic", "claude-haiku-5-5"),
        ({"api_key": "sk-ant-x", "provider": "\0"}, "anthropic", "claude-haiku-5-5"),
    ],
)
def test_the_provider_is_recognised_from_the_key_and_its_default_model_is_offered(
    dashboard: Client, sent: Fields, provider: str, default: str
) -> None:
    answer = dashboard.post("/projects/new/provider", {"type": "assistant", **sent})
    assert f"A key of {provider} . Without a chosen model, the agent uses {default} ." in text_of(answer)
    assert f'<option value="{default}">' in answer.content.decode()


def test_only_allowed_models_are_offered(dashboard: Client) -> None:
    Plan.objects.filter(slug="pro").update(allowed_models="b-model\na-model")
    answer = dashboard.post("/projects/new/provider", {"type": "assistant", "plan": "pro", "api_key": "sk-x"})
    assert re.findall(r'<option value="([^"]+)">', answer.content.decode()) == ["a-model", "b-model"]
    assert "Without a model" not in text_of(answer)
    empty = dashboard.post("/projects/new/provider", {"plan": "nothing", "type": "\0"})
    assert text_of(empty) == ""


def test_changing_the_type_shows_its_settings_and_keeps_matching_values(dashboard: Client) -> None:
    texts = {"instructions": {"type": "string"}, "mood": {"type": "string"}}
    schema = {"properties": texts, "additionalProperties": False}
    AgentType.objects.create(
        slug="own", title="Own", image="own", settings_schema=schema, min_memory_mb=600, needs_api_key=False
    )
    typed = {"type": "own", "plan": "pro", "instructions": "Kept", "model": "gone", "api_key": CANARY_API_KEY}
    content = dashboard.post("/projects/new/settings", typed).content.decode()
    assert 'name="shown_type" value="own"' in content
    assert "Kept</textarea>" in content or 'value="Kept"' in content
    assert 'name="mood"' in content
    assert 'name="model"' not in content
    assert content.count("Too small: this type needs 600 MB.") == 2
    assert re.search(r'value="pro"[^>]* checked', content)


def test_the_check_reports_the_same_as_a_deploy_and_creates_nothing(
    dashboard: Client, fields: Fields, engine: MemoryEngine
) -> None:
    assert "Everything is fine" in text_of(dashboard.post("/projects/new/check", fields))
    wrong = dashboard.post("/projects/new/check", {**fields, "name": "", "telegram_token": "nonsense"})
    assert "may not be blank" in text_of(wrong)
    assert "BotFather" in text_of(wrong)
    engine.images.clear()
    assert "is not on the engine" in text_of(dashboard.post("/projects/new/check", fields))
    assert not Project.objects.exists()
    assert not Event.objects.exists()


def test_the_page_in_place_keeps_the_credentials_and_leads_to_the_project(dashboard: Client, fields: Fields) -> None:
    refused = dashboard.post("/projects/new", {**fields, "name": ""}, headers=HTMX)
    assert refused.status_code == 400
    assert b"<html" not in refused.content
    assert b"<title>Error: New project" in refused.content
    assert "Paste" not in text_of(refused)
    done = dashboard.post("/projects/new", fields, headers=HTMX)
    assert (done.status_code, done["HX-Redirect"]) == (200, path_of(Project.objects.get()))


@pytest.mark.parametrize("path", PIECES)
def test_a_fragment_cannot_be_opened_as_a_page(dashboard: Client, path: str) -> None:
    assert dashboard.get(f"/projects/new/{path}").headers["Location"] == "/projects/new"


def test_no_token_is_returned(dashboard: Client) -> None:
    assert CANARY_OTHER_TELEGRAM_TOKEN not in ask_about(dashboard, CANARY_OTHER_TELEGRAM_TOKEN)


def test_a_deploy_waits_for_no_other_request_of_its_form(dashboard: Client) -> None:
    """Requests meanwhile have an `hx-sync` of their own: with the form's, the deploy would be dropped."""
    AgentType.objects.create(slug="own", title="Own", image="own", settings_schema={})
    page = dashboard.get("/projects/new").content.decode()
    asking = re.findall(r"<(?:input|button|select|textarea)[^>]* hx-post=[^>]*>", page)
    assert len(asking) == 5
    assert [tag for tag in asking if not re.search(r'hx-sync="(this|#id_type):replace"', tag)] == []
