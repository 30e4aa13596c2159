"""A bot belongs to the project whose token Telegram has confirmed. Other claims block nobody."""

from typing import Any

import pytest
from django.core import mail
from rest_framework.test import APIClient

from projects.models import Project
from projects.services.credentials.bot_claims import confirm_claim
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.bot_claims import confirm_claims
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram
from tests.mailing import deliver
from tests.problem_document import assert_problem
from tests.projects.credentials.bot_claims.squatting import NAME, Outage, shown

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


def test_a_claim_that_was_not_confirmed_yields_to_a_token_that_is(
    squatter: Project,
    outage: Outage,
    api: APIClient,
    bobs_api: APIClient,
    body: dict[str, Any],
    engine: MemoryEngine,
) -> None:
    outage()
    answer = api.post("/api/projects", body)
    assert answer.status_code == 201, answer.content
    assert answer.json()["bot"]["username"] == NAME
    reconcile()
    assert engine.containers[squatter.container_name].state == "exited"
    assert shown(bobs_api, squatter) == ("failed", "bot_claimed")
    assert shown(api, Project.objects.get(pk=answer.json()["id"]))[0] == "running"
    assert reconcile().repaired == []
    told = bobs_api.get(f"/api/projects/{squatter.pk}/events").content.decode()
    assert "alice" not in told
    assert answer.json()["id"] not in told


def test_the_same_by_a_change(
    squatter: Project, outage: Outage, api: APIClient, bobs_api: APIClient, body: dict[str, Any], telegram: FakeTelegram
) -> None:
    outage()
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "other_bot")
    mine = api.post("/api/projects", body | {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}).json()["id"]
    assert api.patch(f"/api/projects/{mine}", {"telegramToken": CANARY_TELEGRAM_TOKEN}).status_code == 200
    reconcile()
    assert shown(bobs_api, squatter) == ("failed", "bot_claimed")


def test_a_token_that_telegram_refuses_ends_the_claim(
    squatter: Project, outage: Outage, bobs_api: APIClient, engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_SENDS_MAIL = True
    reconcile()
    outage()
    confirm_claims()
    reconcile()
    assert engine.containers[squatter.container_name].state == "exited"
    assert shown(bobs_api, squatter) == ("failed", "telegram_token")
    deliver()
    assert [message.to for message in mail.outbox] == [["bob@example.com"]]


def test_a_claim_that_telegram_confirms_is_as_good_as_any(
    outage: Outage, api: APIClient, bobs_api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    mine = Project.objects.get(pk=api.post("/api/projects", body).json()["id"])
    confirm_claims()
    assert Project.objects.get(pk=mine.pk).bot_unconfirmed_at is not None
    outage()
    confirm_claims()
    now = Project.objects.get(pk=mine.pk)
    assert (now.bot_unconfirmed_at, now.bot_username, shown(api, now)[0]) == (None, NAME, "running")
    assert_problem(bobs_api.post("/api/projects", body), 409, "bot_in_use")


@pytest.mark.parametrize("first", ["alice", "bob"])
def test_of_two_holders_of_a_token_the_first_confirmed_one_gets_the_bot(
    outage: Outage, api: APIClient, bobs_api: APIClient, body: dict[str, Any], first: str
) -> None:
    clients = {"alice": api, "bob": bobs_api}
    projects = {
        name: Project.objects.get(pk=client.post("/api/projects", body).json()["id"])
        for name, client in clients.items()
    }
    outage()
    confirm_claim(projects[first])
    for project in projects.values():
        if project.pk != projects[first].pk:
            confirm_claim(project)
    reconcile()
    assert {name: shown(clients[name], projects[name]) for name in clients} == {
        name: ("running", None) if name == first else ("failed", "bot_claimed") for name in clients
    }


def test_a_claim_that_is_confirmed_ends_the_others_at_once(
    squatter: Project, outage: Outage, api: APIClient, body: dict[str, Any]
) -> None:
    """Telegram is not asked about them: it may fall silent again before that."""
    mine = Project.objects.get(pk=api.post("/api/projects", body).json()["id"])
    outage()
    confirm_claim(mine)
    assert Project.objects.get(pk=squatter.pk).failure_code == "bot_claimed"
