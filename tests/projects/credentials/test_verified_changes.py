"""What Telegram and the provider are asked when a project changes."""

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.problem_document import codes_of

TOKEN = CANARY_TELEGRAM_TOKEN

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


def test_a_change_verifies_only_the_changed_credentials(
    project: Project, api: APIClient, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    provider.requests.clear()
    telegram.requests.clear()
    assert api.patch(f"/api/projects/{project.id}", {"name": "Renamed"}).status_code == 200
    assert (telegram.requests, provider.requests) == ([], [])
    answer = api.patch(f"/api/projects/{project.id}", {"apiKey": CANARY_OTHER_API_KEY})
    assert codes_of(answer) == {("apiKey", "rejected")}
    assert telegram.requests == []


def test_a_new_token_is_accepted_although_the_stored_key_is_rejected(
    project: Project, api: APIClient, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    provider.reject(CANARY_API_KEY)
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "other_bot")
    answer = api.patch(f"/api/projects/{project.id}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
    assert (answer.status_code, answer.json()["bot"]["username"]) == (200, "other_bot")
    assert answer.json()["provider"] == "openai"


def test_another_provider_is_asked_about_the_stored_key(
    project: Project, api: APIClient, provider: FakeProvider
) -> None:
    provider.reject(CANARY_API_KEY)
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {"provider": "anthropic"}})
    assert codes_of(answer) == {("apiKey", "rejected")}
    provider.heal()
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {"provider": "anthropic"}})
    assert answer.json()["provider"] == "anthropic"
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {"provider": None}})
    assert answer.json()["provider"] == "openai"


def test_a_change_that_could_not_be_checked_is_noted(project: Project, api: APIClient, telegram: FakeTelegram) -> None:
    telegram.stop()
    assert api.patch(f"/api/projects/{project.id}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}).status_code == 200
    [event] = Event.objects.filter(project_id=project.id, action="update", outcome="warning")
    assert event.detail.startswith("telegram_unverified: ")


def test_a_refused_change_changes_nothing(project: Project, api: APIClient) -> None:
    before = Project.objects.filter(pk=project.pk).values().get()
    changed = {"name": "Renamed", "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}
    assert codes_of(api.patch(f"/api/projects/{project.id}", changed)) == {("telegramToken", "rejected")}
    assert Project.objects.filter(pk=project.pk).values().get() == before
