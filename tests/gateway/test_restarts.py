"""Agents continue when the gateway is stopped, killed and restarted."""

import http.client
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def test_a_stopped_gateway_ends_polls_with_an_empty_result_and_its_successor_takes_over(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, threads: ThreadPoolExecutor
) -> None:
    agent = new_agent(own_gateway.start(), telegram, provider)
    poll = threads.submit(agent.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    wait_until(lambda: telegram.polls(agent.token).open == 1)
    assert own_gateway.stop() == 0
    assert poll.result(PATIENCE).json() == {"ok": True, "result": []}
    own_gateway.start()
    telegram.say(agent.token, 5, "hello")
    assert len(agent.bot("getUpdates", timeout=50).json()["result"]) == 1


def test_a_gateway_killed_during_a_poll_loses_no_message(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, threads: ThreadPoolExecutor
) -> None:
    """An agent confirms a message by its next poll, so that Telegram keeps messages that were lost on the way."""
    agent = new_agent(own_gateway.start(), telegram, provider)
    poll = threads.submit(agent.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    wait_until(lambda: telegram.polls(agent.token).open == 1)
    own_gateway.kill()
    with pytest.raises((http.client.HTTPException, OSError)):
        poll.result(PATIENCE)
    telegram.say(agent.token, 5, "hello")
    own_gateway.start()
    (update,) = agent.bot("getUpdates", timeout=50).json()["result"]
    assert update["message"]["text"] == "hello"
