"""The form that deploys a project."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import AgentType, Event, Project
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import Fields, path_of, text_of
from tests.projects.given_credentials import credentials_of


def test_the_form_deploys_the_chosen_agent(dashboard: Client, fields: Fields, engine: MemoryEngine) -> None:
    settings = {"instructions": "Be\r\nbrief.", "model": "gpt-4o-mini", "allowed_users": "@alice_a, 12345\r\n@bob_b"}
    answer = dashboard.post("/projects/new", {**fields, **settings}, follow=True)

    project = Project.objects.get()
    assert answer.redirect_chain == [(path_of(project), 302)]
    assert "“Harbour pilot” is deployed." in text_of(answer)
    assert "Running" in text_of(answer)
    assert project.plan_id == "pro"
    assert project.settings == {
        "instructions": "Be\nbrief.",
        "model": "gpt-4o-mini",
        "allowed_users": ["@alice_a", "12345", "@bob_b"],
    }
    assert set(credentials_of(engine, project).values()) == {CANARY_TELEGRAM_TOKEN, CANARY_API_KEY}
    event = Event.objects.get()
    assert (event.actor, event.source, event.address) == ("alice@example.com", "dashboard", "127.0.0.1")


def test_the_form_begins_with_the_defaults(dashboard: Client) -> None:
    content = dashboard.get("/projects/new").content.decode()
    assert re.search(r'name="plan" value="free"[^>]* checked required>', content)
    assert "256 MB memory, 0.25 CPU, 1 GB disk. <strong>1 of 1 left.</strong>" in content
    assert re.search(r'name="type" value="assistant"[^>]* checked required>', content)


def cards_of(dashboard: Client, query: str = "") -> dict[str, tuple[str, str, bool]]:
    form = dashboard.get(f"/projects/new{query}").context["form"]
    return {card.slug: (card.room, card.fault.partition(":")[0], card.is_chosen) for card in form.plan_cards}


def test_a_full_or_too_small_plan_cannot_be_chosen_and_the_next_one_is_preselected(
    dashboard: Client, deploy: Any
) -> None:
    deploy(plan="free", telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    deploy(plan="starter")
    assert cards_of(dashboard) == {
        "free": ("0 of 1 left", "Full", False),
        "starter": ("2 of 3 left", "", True),
        "pro": ("10 of 10 left", "", False),
    }
    content = dashboard.get("/projects/new").content.decode()
    assert re.search(r'value="free"[^>]* disabled required>', content)
    AgentType.objects.filter(slug="assistant").update(min_memory_mb=600)
    assert cards_of(dashboard)["starter"] == ("2 of 3 left", "Too small", False)
    assert cards_of(dashboard)["pro"][2]


def test_a_form_sent_twice_deploys_once(dashboard: Client, fields: Fields) -> None:
    first, second = (dashboard.post("/projects/new", fields) for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"] == path_of(Project.objects.get())


def test_a_form_sent_again_with_other_content_asks_and_then_deploys(dashboard: Client, fields: Fields) -> None:
    dashboard.post("/projects/new", fields)
    other = {**fields, "name": "Second", "telegram_token": CANARY_OTHER_TELEGRAM_TOKEN}
    answer = dashboard.post("/projects/new", other)
    assert answer.status_code == 422
    assert "has deployed a project already" in text_of(answer)

    drawn = re.search(r'name="id" value="([^"]+)"', answer.content.decode())
    assert drawn
    assert dashboard.post("/projects/new", {**other, "id": drawn[1]}).status_code == 302
    assert Project.objects.count() == 2


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": ""}, "name", "may not be blank"),
        ({"name": "x" * 65}, "name", "no more than 64 characters"),
        ({"name": "a\x07b"}, "name", "control characters"),
        ({"name": "a\x00b"}, "name", "Null characters"),
        ({"plan": "huge"}, "plan", "Select a valid choice"),
        ({"type": "demon"}, "type", "Select a valid choice"),
        ({"telegram_token": ""}, "telegram_token", "needs it"),
        ({"telegram_token": "nonsense"}, "telegram_token", "BotFather"),
        ({"api_key": ""}, "api_key", "needs it"),
        ({"model": "m" * 101}, "model", "at most 100 characters"),
        ({"instructions": "i" * 8001}, "instructions", "at most 8000 characters"),
        (
            {"allowed_users": "@alice_a not!good"},
            "allowed_users",
            "Entry 2 does not fit. Telegram user ids or @usernames",
        ),
    ],
)
def test_errors_are_shown_next_to_their_field_and_only_credentials_are_lost(
    dashboard: Client, fields: Fields, change: Fields, field: str, sentence: str
) -> None:
    kept = {
        "name": "Kept name",
        "instructions": "Kept instructions",
        "model": "kept-model",
        "allowed_users": "@kept_one",
    }
    sent = {**fields, **kept, **change}
    answer = dashboard.post("/projects/new", sent)

    content = answer.content.decode()
    assert answer.status_code == 400
    beside = re.search(rf'<ul class="errorlist" id="id_{field}_error">(.*?)</ul>', content)
    assert beside
    assert sentence in beside[1]
    assert re.search(rf'id="id_{field}"[^>]*aria-describedby="[^"]*id_{field}_error"', content) or re.search(
        rf'aria-describedby="[^"]*id_{field}_error"[^>]*id="id_{field}"', content
    )
    assert f'<a href="#id_{field}">' in content
    for name in kept.keys() - change.keys():
        assert kept[name] in content
    assert re.search(r'value="pro"[^>]* checked', content) or "plan" in change
    for secret in ("telegram_token", "api_key"):
        assert not sent[secret] or sent[secret] not in content
    assert not Project.objects.exists()


def test_after_an_error_the_page_asks_for_both_credentials_again(dashboard: Client, fields: Fields) -> None:
    text = text_of(dashboard.post("/projects/new", {**fields, "name": ""}))
    assert "Paste again: Bot token and API key." in text
    assert text.count("Paste it again: no page ever repeats a credential.") == 2


def test_a_full_plan_is_a_403_that_keeps_the_form(dashboard: Client, deploy: Any, fields: Fields) -> None:
    deploy(plan="free", telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    answer = dashboard.post("/projects/new", {**fields, "plan": "free", "instructions": "Kept"})
    assert answer.status_code == 403
    assert "The free plan allows 1 project(s)" in text_of(answer)
    assert b"Kept</textarea>" in answer.content


def test_a_bot_in_use_is_a_409_that_does_not_say_whose(bob: User, project: Project, fields: Fields) -> None:
    client = Client()
    client.force_login(bob)
    answer = client.post("/projects/new", {**fields, "name": "Mine now"})
    assert answer.status_code == 409
    assert "Another project already runs this Telegram bot" in text_of(answer)
    assert project.name not in text_of(answer)
    assert b"Mine now" in answer.content


def test_a_silent_engine_is_a_503_that_leaves_nothing_but_the_form(
    dashboard: Client, fields: Fields, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = dashboard.post("/projects/new", fields)
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert b"Harbour pilot" in answer.content
    assert not Project.objects.exists()

    engine.unavailable = False
    assert dashboard.post("/projects/new", fields).status_code == 302


def test_a_missing_image_is_a_502(dashboard: Client, fields: Fields, engine: MemoryEngine) -> None:
    engine.images.clear()
    answer = dashboard.post("/projects/new", fields)
    assert answer.status_code == 502
    assert "is not on the engine" in text_of(answer)
