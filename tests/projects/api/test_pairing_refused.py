"""Who cannot create a pairing link, for which projects, and that no link is stored."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import AgentType, IdempotencyRecord, Project
from tests.clients import SessionClient
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.pairing import PLAIN, bot_of, make, secret_of

Deploy = Callable[..., Project]


NO_MODES: list[Any] = [None, "", "ADD", "owner", "o", 1, True, [], {}, ["add"]]


@pytest.mark.parametrize("body", [*({"mode": mode} for mode in NO_MODES), {"for": "me"}, [], "x"])
def test_an_invalid_mode_is_refused(api: APIClient, named: Project, body: Any) -> None:
    answer = api.post(f"/api/projects/{named.pk}/pairing", body, format="json")
    assert answer.status_code == 400, answer.content
    named.refresh_from_db()
    assert named.pairing_number == 0


def test_only_the_owner_creates_links_and_not_during_a_suspension(api: APIClient, named: Project, bob: User) -> None:
    assert make(SessionClient(bob), named).status_code == 404
    Project.objects.update(suspended_at=timezone.now())
    assert_problem(make(api, named), 409, "project_suspended")
    Project.objects.update(suspended_at=None, desired="deleted")
    assert_problem(make(api, named), 409, "operation_in_progress")
    assert Project.objects.get().pairing_number == 0


def test_a_type_without_pairing_has_neither_secret_nor_link(
    api: APIClient, deploy: Deploy, engine: MemoryEngine
) -> None:
    AgentType.objects.update(pairs_people=False)
    project = deploy()
    Project.objects.update(bot_username="harbour_bot")
    assert secret_of(engine, project) == ""
    assert bot_of(api, project)["url"] == PLAIN
    assert_problem(make(api, project), 409, "pairing_unknown")


def test_a_retried_creation_returns_the_current_link_and_stores_none(api: APIClient, body: dict[str, Any]) -> None:
    sent = [api.post("/api/projects", body, HTTP_IDEMPOTENCY_KEY="once") for _ in range(2)]
    assert [answer.status_code for answer in sent] == [201, 201]
    assert sent[1].json()["bot"] == sent[0].json()["bot"]
    Project.objects.update(bot_username="harbour_bot")
    assert "?start=" in api.post("/api/projects", body, HTTP_IDEMPOTENCY_KEY="once").json()["bot"]["url"]
    assert "start=" not in IdempotencyRecord.objects.get().answer
