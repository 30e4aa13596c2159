"""How many queries each command of the API makes behind the gateway,
including the beginning and the end of transactions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from projects.models import Plan, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY
from tests.deploying import PROJECT, create_project, token_of_bot

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]

MOST = {
    "create": 29,
    "create with a key of OpenAI": 28,
    "create without a gateway": 23,
    "stop": 3,
    "start": 21,
    "start again": 2,
    "restart": 21,
    "a new name": 7,
    "a new key": 11,
    "delete": 12,
}
"""A project with a budget, whose owner has a plan with one. The token's user is read with whether staff are at work,
and with the project. A key that may be of a provider that the staff have named asks for these.
"""


def test_each_command_makes_only_the_necessary_queries(api: APIClient, settings: Any) -> None:
    Plan.objects.filter(slug=PROJECT["plan"]).update(day_tokens=1_000_000)
    create_project(api, PROJECT | {"telegramToken": token_of_bot(71)})  # queries that a process makes once
    counted: dict[str, list[str]] = {}

    def count(command: str, send: Callable[[], Any]) -> None:
        with CaptureQueriesContext(connection) as queries:
            answer = send()
        assert answer.status_code in {200, 201, 204}, answer.content
        counted[command] = [str(each["sql"]) for each in queries.captured_queries]

    def create(bot: int, key: str = CANARY_API_KEY) -> Any:
        return api.post("/api/projects", PROJECT | {"telegramToken": token_of_bot(bot), "apiKey": key})

    count("create", lambda: create(72))
    count("create with a key of OpenAI", lambda: create(74, "sk-proj-canary2provider2api2key2w9Hc6Xf"))
    project = Project.objects.get(bot_id=72)
    path = f"/api/projects/{project.pk}"
    for command in ("stop", "start", "start again", "restart"):
        count(command, partial(api.post, f"{path}/control", {"action": command.partition(" ")[0]}))
    count("a new name", lambda: api.patch(path, {"name": "Another"}))
    count("a new key", lambda: api.patch(path, {"apiKey": CANARY_OTHER_API_KEY}))
    count("delete", lambda: api.delete(path))
    settings.BERTH_GATEWAY = False
    count("create without a gateway", lambda: create(73))
    assert {command: len(asked) for command, asked in counted.items() if len(asked) > MOST[command]} == {}, counted
