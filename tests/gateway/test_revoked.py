"""An agent whose token was revoked does not end before its owner can have given the new one."""

from typing import Any

import pytest
from gateway.telegram.revoked import WAITS_FOR, Revoked

from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.test_fairness import Now

pytestmark = pytest.mark.one_database


def test_a_token_that_has_worked_is_missed_for_a_while() -> None:
    now: Any = Now()
    revoked = Revoked(now)
    assert not revoked.note("p", "old", 401), "It has never worked."
    assert [revoked.note("p", "old", status) for status in (200, 409, 429, 500)] == [False] * 4
    assert revoked.note("p", "old", 401)
    now.seconds += WAITS_FOR - 1
    assert revoked.note("p", "old", 401)
    assert not revoked.note("p", "new", 401), "The new one is wrong."
    assert not revoked.note("q", "old", 401)
    now.seconds += 1
    assert not revoked.note("p", "old", 401)
    assert not revoked.note("p", "old", 200)
    assert revoked.note("p", "old", 401), "It works again in between."
    revoked.forget("p")
    assert not revoked.note("p", "old", 401)


def test_it_is_asked_to_come_again_and_goes_on_with_the_new_one(alice: Agent, telegram: FakeTelegram) -> None:
    assert alice.bot("getMe").status == 200
    telegram.revoke(alice.token)
    for _ in range(2):
        answer = alice.bot("getUpdates", timeout=0)
        assert (answer.status, answer.json()["ok"], answer.headers["retry-after"]) == (503, False, "5")
    assert alice.gateway.ask("truth")["seen"][alice.project]["telegram_status"] == 401, "Its owner is told."
    alice.token += "new"
    telegram.add_bot(alice.token)
    alice.gateway.apply(alice.entry())
    assert alice.bot("getUpdates", timeout=0).status == 200


def test_a_new_token_that_is_wrong_is_refused_at_once(alice: Agent) -> None:
    assert alice.bot("getMe").status == 200
    alice.token += "wrong"
    alice.gateway.apply(alice.entry())
    assert alice.bot("getUpdates", timeout=0).status == 401
