"""Who has a bot: the project whose token Telegram has confirmed. Any other claim keeps nobody from it.

Bob squats on Alice's bot: he knows its number, which everybody does, and not its token.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from rest_framework.test import APIClient

from projects.credentials import verification
from projects.credentials.verification import CredentialCheck
from projects.errors import InvalidFieldError
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.services import bot_claims as service
from projects.services import control
from projects.services.bot_claims import confirm_claim
from projects.services.capacity import learn_host_memory
from projects.watcher import bot_claims
from projects.watcher import watcher as loop
from projects.watcher.bot_claims import BotClaims, confirm_claims
from projects.watcher.reconcile import reconcile
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram
from tests.mailing import deliver
from tests.ports import reserve_port
from tests.problem_document import assert_problem
from tests.projects.dashboard.pages import path_of, text_of
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

BOT = CANARY_TELEGRAM_TOKEN.partition(":")[0]
WRONG_TOKEN = f"{BOT}:a-token-that-bob-invented"
NAME = "harbour_pilot_bot"

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


Outage = Callable[[], None]


@pytest.fixture(autouse=True)
def _telegram_has_all_the_time_it_needs(credentials_are_verified: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "TELEGRAM_LIMIT", 20.0)


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


def shown(api: APIClient, project: Project) -> tuple[str, str | None]:
    detail = api.get(f"/api/projects/{project.pk}").json()
    return detail["status"], (detail["status_reason"] or {}).get("code")


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
def test_of_two_who_hold_the_token_the_first_that_is_confirmed_has_the_bot(
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
    """Without Telegram being asked about them: it may fall silent again before that."""
    mine = Project.objects.get(pk=api.post("/api/projects", body).json()["id"])
    outage()
    confirm_claim(mine)
    assert Project.objects.get(pk=squatter.pk).failure_code == "bot_claimed"


def test_each_claim_gets_its_turn(
    squatter: Project, api: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and however long Telegram says nothing of the first ones."""
    api.post("/api/projects", body)
    asked: list[str] = []

    def say_nothing(*, telegram_token: str, api_key: str) -> CredentialCheck:
        asked.append(telegram_token)
        return CredentialCheck(token_confirmed=False)

    monkeypatch.setattr(service, "verify_credentials", say_nothing)
    monkeypatch.setattr(bot_claims, "BATCH", 1)
    for _ in range(4):
        confirm_claims()
    assert asked == [WRONG_TOKEN, CANARY_TELEGRAM_TOKEN] * 2


def test_a_claim_that_is_lost_is_not_asked_about_again(
    squatter: Project, outage: Outage, telegram: FakeTelegram
) -> None:
    outage()
    confirm_claims()
    asked = len(telegram.requests)
    confirm_claims()
    assert len(telegram.requests) == asked > 0
    assert Event.objects.filter(project_id=squatter.pk, action=service.VERIFY).count() == 1


@pytest.mark.parametrize("change", [{"desired": "deleted"}, {"instance": "another"}])
def test_of_what_is_being_deleted_or_anothers_telegram_is_not_asked(
    squatter: Project, outage: Outage, telegram: FakeTelegram, change: dict[str, str]
) -> None:
    Project.objects.filter(pk=squatter.pk).update(**change)
    outage()
    confirm_claims()
    assert telegram.requests == []
    assert Project.objects.filter(pk=squatter.pk, failure_code="").exists()


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
        assert api.post("/api/projects", body).status_code == 201

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
    """The answers to a bot that is deployed and to one that is not are the same, by every way in."""
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


def test_who_has_lost_a_bot_starts_again_with_another_one_only(
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


def test_a_token_that_is_changed_while_telegram_is_asked_is_not_judged_by_the_old_one(
    squatter: Project, outage: Outage, bobs_api: APIClient, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage()
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "other_bot")

    def change_meanwhile(**credentials: Any) -> Any:
        bobs_api.patch(f"/api/projects/{squatter.pk}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
        return verification.verify_credentials(**credentials)

    monkeypatch.setattr(service, "verify_credentials", change_meanwhile)
    confirm_claims()
    now = Project.objects.get(pk=squatter.pk)
    assert (now.failure_code, now.bot_username, now.bot_unconfirmed_at) == ("", "other_bot", None)


def test_nor_is_one_that_telegram_says_nothing_of(
    squatter: Project, bobs_api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_meanwhile(**credentials: Any) -> Any:
        bobs_api.patch(f"/api/projects/{squatter.pk}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
        raise InvalidFieldError("Telegram refused the old token.", field="telegramToken", code="rejected")

    monkeypatch.setattr(service, "verify_credentials", change_meanwhile)
    confirm_claims()
    now = Project.objects.get(pk=squatter.pk)
    assert now.bot_id == int(CANARY_OTHER_TELEGRAM_TOKEN.partition(":")[0])
    assert (now.failure_code, now.bot_unconfirmed_at is None) == ("", False)


def test_one_claim_that_breaks_keeps_no_other_from_being_confirmed(
    squatter: Project, outage: Outage, api: APIClient, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    mine = api.post("/api/projects", body).json()["id"]
    Project.objects.filter(pk=squatter.pk).update(telegram_token_ciphertext="no ciphertext")
    outage()
    confirm_claims()
    assert Project.objects.get(pk=mine).bot_username == NAME


def test_nor_does_one_that_breaks_in_a_way_that_nobody_foresaw(
    squatter: Project, outage: Outage, api: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = api.post("/api/projects", body).json()["id"]

    def break_at_the_first(project: Project) -> None:
        if project.pk == squatter.pk:
            raise ZeroDivisionError
        confirm_claim(project)

    monkeypatch.setattr(bot_claims, "confirm_claim", break_at_the_first)
    outage()
    confirm_claims()
    assert Project.objects.get(pk=mine).bot_username == NAME


@pytest.mark.parametrize("verifies", [True, False])
def test_nobody_is_asked_where_credentials_are_not_verified(
    settings: Any, monkeypatch: pytest.MonkeyPatch, verifies: bool
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = verifies
    passes: list[object] = []
    monkeypatch.setattr(bot_claims, "confirm_claims", lambda **_: passes.append(None))
    claims = BotClaims()
    claims.step()
    claims.stop()
    assert len(passes) == int(verifies)


def test_a_pass_has_one_deadline(
    squatter: Project, outage: Outage, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage()
    monkeypatch.setattr(bot_claims, "PASS_SECONDS", 0.0)
    confirm_claims()
    assert telegram.requests == []


@pytest.mark.django_db(transaction=True)
def test_the_watcher_has_claims_confirmed_and_no_round_waits_for_telegram(
    squatter: Project, outage: Outage, telegram: FakeTelegram, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(bot_claims, "EVERY", 0.02)
    asked, answers = threading.Event(), threading.Event()

    def ask(project: Project) -> None:
        asked.set()
        answers.wait(30)
        confirm_claim(project)

    monkeypatch.setattr(bot_claims, "confirm_claim", ask)
    outage()
    with watchers_in_threads() as start:
        start()
        wait_until(asked.is_set)
        seen = engine.calls.count(("observe", ""))
        wait_until(lambda: engine.calls.count(("observe", "")) >= seen + 3, what="Rounds wait for Telegram")
        assert sum(thread.name == "bot claims" for thread in threading.enumerate()) == 1
        answers.set()
        wait_until(lambda: Project.objects.get(pk=squatter.pk).failure_code == "telegram_token")
        wait_until(lambda: engine.containers[squatter.container_name].state == "exited")
    assert Event.objects.filter(project_id=squatter.pk, actor=SYSTEM.label, action=service.VERIFY).count() == 1
