"""An owner who lost a bot learns nothing about the winner, and can start only with another bot."""

from contextvars import copy_context
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from projects.services.commands import control
from projects.services.limits.capacity import learn_host_memory
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram
from tests.ports import reserve_port
from tests.problem_document import assert_problem
from tests.projects.credentials.bot_claims.squatting import BOT, Outage, shown
from tests.projects.dashboard.pages import path_of, text_of

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


def test_a_start_that_looked_before_the_bot_was_lost_does_not_count(
    squatter: Project,
    outage: Outage,
    api: APIClient,
    bobs_api: APIClient,
    body: dict[str, Any],
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = f"/api/projects/{squatter.pk}/control"
    assert bobs_api.post(path, {"action": "stop"}).status_code == 200
    outage()

    def lose_it() -> None:
        monkeypatch.setattr(control, "learn_host_memory", learn_host_memory)
        # In a separate context, like in its thread: the id of a request is stored in one.
        assert copy_context().run(api.post, "/api/projects", body).status_code == 201

    monkeypatch.setattr(control, "learn_host_memory", lose_it)
    assert_problem(bobs_api.post(path, {"action": "start"}), 409, "bot_in_use")
    assert engine.containers[squatter.container_name].state == "exited"
    assert Project.objects.get(pk=squatter.pk).failure_code == "bot_claimed"


def test_while_telegram_is_silent_nobody_learns_which_bots_are_here(
    api: APIClient,
    bobs_api: APIClient,
    bob: Any,
    body: dict[str, Any],
    settings: Any,
    telegram: FakeTelegram,
) -> None:
    """A bot that is deployed here gets the same answers as one that is not, everywhere."""
    assert api.post("/api/projects", body).status_code == 201
    settings.BERTH_TELEGRAM_API = f"http://127.0.0.1:{reserve_port()}"
    told = []
    for bot in (BOT, "1234567"):
        sent = body | {"telegramToken": f"{bot}:invented", "plan": "pro"}
        checked = bobs_api.post("/api/projects/validate", sent)
        made = bobs_api.post("/api/projects", sent)
        project = Project.objects.get(pk=made.json()["id"])
        changed = bobs_api.patch(f"/api/projects/{project.pk}", {"telegramToken": f"{bot}:invented-again"})
        started = bobs_api.post(f"/api/projects/{project.pk}/control", {"action": "restart"})
        page = text_of(browser_of(bob).get(path_of(project)))
        told.append(
            [checked.json()["warnings"], checked.json()["bot"]["username"]]
            + [(answer.status_code, answer.json()["status"]) for answer in (made, changed, started)]
            + ["bot_in_use" in page, "bot_claimed" in page, "Another project" in page]
        )
        assert bobs_api.delete(f"/api/projects/{project.pk}").status_code == 204
    assert told[0] == told[1]


def test_an_owner_who_lost_a_bot_can_start_only_with_another(
    squatter: Project, outage: Outage, api: APIClient, bobs_api: APIClient, body: dict[str, Any], telegram: FakeTelegram
) -> None:
    outage()
    winner = api.post("/api/projects", body).json()["id"]
    reconcile()
    path = f"/api/projects/{squatter.pk}"
    for action in ("start", "restart"):
        assert_problem(bobs_api.post(f"{path}/control", {"action": action}), 409, "bot_in_use")
    assert shown(bobs_api, squatter) == ("failed", "bot_claimed")
    assert bobs_api.post(f"{path}/control", {"action": "stop"}).json()["status"] == "stopped"
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "other_bot")
    assert bobs_api.patch(path, {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}).status_code == 200
    assert bobs_api.post(f"{path}/control", {"action": "start"}).json()["status"] == "running"
    assert shown(api, Project.objects.get(pk=winner))[0] == "running"
