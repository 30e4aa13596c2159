"""How claims are confirmed: in turn, outside of the rounds, and none blocks another."""

import threading
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.credentials import verification
from projects.credentials.verification import CredentialCheck
from projects.errors import InvalidFieldError
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.services.credentials import bot_claims as service
from projects.services.credentials.bot_claims import confirm_claim
from projects.watcher import watcher as loop
from projects.watcher.upkeep import bot_claims
from projects.watcher.upkeep.bot_claims import BotClaims, confirm_claims
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram
from tests.projects.credentials.bot_claims.squatting import NAME, WRONG_TOKEN, Outage
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


def test_each_claim_gets_its_turn(
    squatter: Project, api: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No matter how many there are, and how long Telegram is silent about the first ones."""
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
def test_telegram_is_not_asked_about_deleted_projects_or_other_installations(
    squatter: Project, outage: Outage, telegram: FakeTelegram, change: dict[str, str]
) -> None:
    Project.objects.filter(pk=squatter.pk).update(**change)
    outage()
    confirm_claims()
    assert telegram.requests == []
    assert Project.objects.filter(pk=squatter.pk, failure_code="").exists()


def test_a_token_changed_during_the_check_is_not_judged_by_the_old_one(
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


def test_a_token_without_an_answer_of_telegram_is_not_judged(
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


def test_a_failing_claim_blocks_no_other(
    squatter: Project, outage: Outage, api: APIClient, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    mine = api.post("/api/projects", body).json()["id"]
    Project.objects.filter(pk=squatter.pk).update(telegram_token_ciphertext="no ciphertext")
    outage()
    confirm_claims()
    assert Project.objects.get(pk=mine).bot_username == NAME


def test_an_unexpected_error_of_a_claim_blocks_no_other(
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
def test_telegram_is_not_asked_if_verification_is_off(
    settings: Any, monkeypatch: pytest.MonkeyPatch, verifies: bool
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = verifies
    passes: list[object] = []
    monkeypatch.setattr(bot_claims, "confirm_claims", lambda **_: passes.append(None))
    claims = BotClaims()
    claims.step()
    if verifies:
        wait_until(lambda: passes)
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
    asked: list[Project] = []
    answers = threading.Event()

    def ask(project: Project) -> None:
        asked.append(project)
        answers.wait(60)
        confirm_claim(project)

    monkeypatch.setattr(bot_claims, "confirm_claim", ask)
    outage()
    with watchers_in_threads() as start:
        start()
        wait_until(lambda: asked)
        seen = engine.calls.count(("observe", ""))
        wait_until(lambda: engine.calls.count(("observe", "")) >= seen + 3, what="Rounds wait for Telegram")
        assert len(asked) == 1  # one pass at a time
        answers.set()
        wait_until(lambda: Project.objects.get(pk=squatter.pk).failure_code == "telegram_token")
        wait_until(lambda: engine.containers[squatter.container_name].state == "exited")
    assert Event.objects.filter(project_id=squatter.pk, actor=SYSTEM.label, action=service.VERIFY).count() == 1
