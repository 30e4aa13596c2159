"""The bot that is squatted on, and how a project that claims it is shown."""

from collections.abc import Callable

from rest_framework.test import APIClient

from projects.models import Project
from tests.canaries import CANARY_TELEGRAM_TOKEN

BOT = CANARY_TELEGRAM_TOKEN.partition(":")[0]
WRONG_TOKEN = f"{BOT}:a-token-that-bob-invented"
NAME = "harbour_pilot_bot"
Outage = Callable[[], None]


def shown(api: APIClient, project: Project) -> tuple[str, str | None]:
    detail = api.get(f"/api/projects/{project.pk}").json()
    return detail["status"], (detail["status_reason"] or {}).get("code")
