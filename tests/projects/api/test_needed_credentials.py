"""Which credentials a project must have: those that its type needs."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.identity import container_name
from projects.models import AgentType
from tests.fakes.engine import MemoryEngine
from tests.problem_document import codes_of


@pytest.mark.parametrize("needs", [("telegramToken",), ("apiKey",), ()])
def test_a_credential_is_required_only_if_the_type_needs_it(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, needs: tuple[str, ...]
) -> None:
    AgentType.objects.update(needs_telegram_token="telegramToken" in needs, needs_api_key="apiKey" in needs)
    given = {name: value for name, value in body.items() if name not in {"telegramToken", "apiKey"}}
    if needs:
        assert codes_of(api.post("/api/projects", given)) == {(field, "required") for field in needs}
    answer = api.post("/api/projects", given | {field: body[field] for field in needs})
    assert answer.status_code == 201
    detail = answer.json()
    assert (detail["bot"] is None) == ("telegramToken" not in needs)
    assert bool(detail["api_key_hint"]) == ("apiKey" in needs)
    assert set(engine.secrets_of(container_name(detail["id"]))) == {
        {"telegramToken": "telegram_bot_token", "apiKey": "agent_api_key"}[field] for field in needs
    }


def test_projects_without_a_bot_do_not_share_one(api: APIClient, body: dict[str, Any]) -> None:
    AgentType.objects.update(needs_telegram_token=False)
    del body["telegramToken"]
    for _ in range(2):
        assert api.post("/api/projects", body | {"plan": "pro"}).status_code == 201
