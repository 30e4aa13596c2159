"""Calls to the Bot API through the gateway."""

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def test_a_bot_answers_a_message(alice: Agent, telegram: FakeTelegram) -> None:
    telegram.say(alice.token, 5, "hello")
    (update,) = alice.bot("getUpdates", timeout=50).json()["result"]
    assert update["message"]["text"] == "hello"
    assert alice.bot("sendMessage", chat_id=5, text="good day").json()["ok"]
    assert telegram.sent(alice.token)[0].text == "good day"


def test_parameters_pass_in_the_query_and_in_forms(alice: Agent, telegram: FakeTelegram) -> None:
    telegram.say(alice.token, 5, "hello")
    path = f"/tg/bot1:{alice.virtual_token}/sendMessage"
    assert alice.ask("GET", f"{path}?chat_id=5&text=one").status == 200
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert alice.ask("POST", path, b"chat_id=5&text=two", headers=form).status == 200
    assert [sent.text for sent in telegram.sent(alice.token)] == ["one", "two"]


@pytest.mark.parametrize(
    "method",
    ["setWebhook", "SETWEBHOOK", "logOut", "close", "getManagedBotToken", "replaceManagedBotToken"],
)
def test_methods_that_would_take_the_bot_away_are_refused_in_telegram_s_format(
    alice: Agent, telegram: FakeTelegram, method: str
) -> None:
    answer = alice.bot(method, url="https://example.org/")
    assert answer.status == 400
    assert answer.json()["ok"] is False
    assert answer.json()["error_code"] == 400
    assert telegram.calls(alice.token) == []


def test_deleting_a_webhook_is_answered_locally(alice: Agent, telegram: FakeTelegram) -> None:
    assert alice.bot("deleteWebhook", drop_pending_updates=True).json()["result"] is True
    assert telegram.calls(alice.token) == []


def test_a_webhook_that_telegram_reports_as_a_conflict_is_deleted(alice: Agent, telegram: FakeTelegram) -> None:
    telegram._set(alice.token, webhook="https://example.org/")
    assert alice.bot("getUpdates").status == 409
    assert alice.bot("deleteWebhook").json()["result"] is True
    assert alice.bot("getUpdates").status == 200


def test_the_newest_poll_wins_and_the_older_one_ends_with_an_empty_result(
    alice: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    older = threads.submit(alice.bot, "getUpdates", offset=0, timeout=50)
    telegram.wait_for_poll(alice.token, timeout=PATIENCE)
    newer = threads.submit(alice.bot, "getUpdates", offset=0, timeout=50)
    assert older.result(PATIENCE).json() == {"ok": True, "result": []}
    telegram.wait_for_poll(alice.token, after=1, timeout=PATIENCE)
    telegram.say(alice.token, 5, "hello")
    assert len(newer.result(PATIENCE).json()["result"]) == 1


@pytest.mark.parametrize("closed", [socket.SHUT_WR, socket.SHUT_RDWR], ids=["half", "whole"])
def test_a_poll_that_the_agent_gives_up_ends_at_telegram(alice: Agent, telegram: FakeTelegram, closed: int) -> None:
    """The end of what an agent sends looks the same whether it would still read or not."""
    with alice.connected() as connection:
        connection.request("GET", f"/tg/bot1:{alice.virtual_token}/getUpdates?timeout=50")
        telegram.wait_for_poll(alice.token, timeout=PATIENCE)
        wait_until(lambda: telegram.polls(alice.token).open == 1)
        connection.sock.shutdown(closed)
        wait_until(lambda: telegram.polls(alice.token).open == 0)


@pytest.mark.parametrize("status", [409, 429, 500, 502])
def test_errors_of_telegram_are_passed_on(alice: Agent, telegram: FakeTelegram, status: int) -> None:
    if status == 409:
        telegram.conflict(alice.token, times=1)
    elif status == 429:
        telegram.rate_limit(alice.token, 7, times=1)
    else:
        telegram.break_down(alice.token, status, times=1)
    answer = alice.bot("getUpdates")
    assert answer.status == status
    if status == 429:
        assert answer.json()["parameters"] == {"retry_after": 7}
        assert answer.headers["retry-after"] == "7"
    seen = alice.gateway.ask("truth")["seen"].get(alice.project, {"telegram_status": None})
    assert seen["telegram_status"] == (409 if status == 409 else None), "Only a refusal counts."


def test_a_new_token_works_at_once_and_ends_the_poll_with_the_old_one(
    alice: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    poll = threads.submit(alice.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(alice.token, timeout=PATIENCE)
    alice.token = "799999999:CANARYnewCANARYnewCANARYnew"
    telegram.add_bot(alice.token)
    alice.gateway.apply(alice.entry())
    assert poll.result(PATIENCE).json() == {"ok": True, "result": []}
    assert alice.bot("getMe").json()["result"]["id"] == 799_999_999


def test_a_void_bot_is_fenced_at_once(alice: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor) -> None:
    poll = threads.submit(alice.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(alice.token, timeout=PATIENCE)
    wait_until(lambda: telegram.polls(alice.token).open == 1)
    alice.gateway.apply(void=(alice.project,))
    with suppress(http.client.HTTPException, OSError):  # the connection may be cut before the empty result is through
        assert poll.result(PATIENCE).json()["result"] == []
    wait_until(lambda: telegram.polls(alice.token).open == 0)
    assert alice.bot("getUpdates").status == 401


def test_messages_are_counted_and_polls_are_seen(alice: Agent, telegram: FakeTelegram) -> None:
    telegram.say(alice.token, 5, "hello")
    alice.bot("getUpdates")
    alice.bot("sendChatAction", chat_id=5, action="typing")
    assert alice.bot("sendMessageDraft", chat_id=5, draft_id=1, text="o").status == 200
    alice.bot("sendMessage", chat_id=5, text="one")
    alice.bot("sendMessage", chat_id=6, text="nobody")
    assert alice.gateway.settled(alice.project, 0)["messages"] == 1
    assert alice.gateway.ask("truth")["seen"][alice.project]["last_poll"] > 0


def test_two_programs_that_poll_one_bot_do_not_race(
    alice: Agent, telegram: FakeTelegram, threads: ThreadPoolExecutor
) -> None:
    """Each client's poll ends the other's. Because of the pause that happens once a second, not hundreds of times."""
    is_over = threading.Event()

    def poll() -> int:
        polls = 0
        while not is_over.is_set():
            alice.bot("getUpdates", timeout=50)
            polls += 1
        return polls

    both = [threads.submit(poll) for _ in range(2)]
    telegram.wait_for_poll(alice.token, after=2, timeout=PATIENCE)
    is_over.set()
    telegram.say(alice.token, 5, json.dumps("end"))
    assert sum(each.result(PATIENCE) for each in both) < 12
