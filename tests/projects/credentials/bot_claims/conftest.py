"""Bob squats on Alice's bot: he knows its public number but not its token."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.telegram import FakeTelegram
from tests.ports import reserve_port
from tests.projects.credentials.bot_claims.squatting import WRONG_TOKEN, Outage


@pytest.fixture(autouse=True)
def _claims_are_verified(credentials_are_verified: None) -> None:
    pass


@pytest.fixture
def outage(settings: Any, telegram: FakeTelegram) -> Outage:
    """Telegram is silent until this is called."""
    address, settings.BERTH_TELEGRAM_API = telegram.url, f"http://127.0.0.1:{reserve_port()}"

    def end() -> None:
        settings.BERTH_TELEGRAM_API = address

    return end


@pytest.fixture
def squatter(outage: Outage, bobs_api: APIClient, body: dict[str, Any]) -> Project:
    answer = bobs_api.post("/api/projects", body | {"telegramToken": WRONG_TOKEN, "name": "Squatter"})
    assert answer.status_code == 201, answer.content
    return Project.objects.get(pk=answer.json()["id"])
