"""Programs that know nothing of Berth, behind the relay of the base image. The program is `tests.agents.echoing`."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agents import echoing
from tests.agents.agent import Agent
from tests.canaries import find_canary
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.one_database

STRANGER = 77


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Starts an agent that answers only chat 1."""
    agent.command = [str(Path(echoing.__file__))]
    agent.env |= {"AGENT_MODEL": "echo", "AGENT_ALLOWED_USERS": "1", "AGENT_LONGEST_PAUSE": "0.5"}
    return agent


def start(agent: Agent) -> Agent:
    return agent.start(anew=True)


def ends(agent: Agent, exit_code: int, code: str) -> None:
    assert agent.wait_for_exit() == exit_code, agent.output
    assert (agent.file["state"], agent.file["code"]) == ("failed", code)
    assert find_canary(agent.output) is None


def test_it_answers_allowed_users_and_holds_no_credential(
    agent: Agent, telegram: FakeTelegram, token: str, ask: Callable[..., str]
) -> None:
    telegram.say(token, STRANGER, "Who are you?")
    telegram.say(token, 1, "Written while it was down")
    start(agent).wait_for("running")
    telegram.wait_for_message(token, containing="while it was down", timeout=100)
    assert ask("Hello?") == "You said: Hello?"
    assert agent.check_health()[0] == 0
    agent.terminate_by_thread()
    assert agent.wait_for_exit() == 0, agent.output
    assert telegram.pending(token) == 0
    assert telegram.sent(token, STRANGER) == []
    assert "echo: AGENT-STATUS" in agent.output
    assert [report["state"] for report in agent.statuses] == ["starting", "running", "stopped"]
    assert find_canary(agent.output) is None


def test_a_restart_answers_nothing_twice(
    agent: Agent, telegram: FakeTelegram, provider: FakeProvider, token: str
) -> None:
    provider.stall("chat")
    start(agent).wait_for("running")
    telegram.say(token, 1, "Slow")
    provider.wait_for_request(timeout=100)
    assert agent.stop() == 0, agent.output
    provider.heal()
    telegram.say(token, 1, "Quick")
    start(agent)
    telegram.wait_for_message(token, containing="Quick", timeout=100)
    assert not [sent for sent in telegram.sent(token) if "Slow" in sent.text]


def test_an_answer_under_way_is_delivered_before_the_end(
    agent: Agent, telegram: FakeTelegram, provider: FakeProvider, token: str
) -> None:
    """The program itself ends immediately on SIGTERM."""
    provider.hold("Slow")
    agent.env["ECHO_ANSWER_SECONDS"] = "90"
    start(agent).wait_for("running")
    telegram.say(token, 1, "Slow")
    provider.wait_for_request(timeout=100)
    with ThreadPoolExecutor(1) as threads:
        stopping = threads.submit(agent.stop)
        time.sleep(0.3)  # the signal has arrived
        provider.release("Slow")
        assert stopping.result() == 0, agent.output
    assert [sent.text for sent in telegram.sent(token)] == ["You said: Slow"]


@pytest.mark.parametrize("wrong", ["987654:unknown-to-telegram-but-well-formed", "not a token"])
def test_20_a_token_that_telegram_rejects(agent: Agent, wrong: str) -> None:
    agent.secrets["telegram_bot_token"] = wrong
    ends(start(agent), 20, "telegram_token")


def test_20_a_token_revoked_while_running(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    start(agent).wait_for("running")
    telegram.revoke(token)
    ends(agent, 20, "telegram_token")


def test_21_a_bot_that_another_program_keeps_polling(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    telegram.conflict(token)
    start(agent).wait_for("starting", "telegram_conflict")
    ends(agent, 21, "telegram_conflict")


def test_30_a_key_that_the_provider_rejects(agent: Agent) -> None:
    agent.secrets["agent_api_key"] = "sk-unknown"
    ends(start(agent), 30, "provider_key")


def test_31_no_credit_left_on_the_key(agent: Agent, provider: FakeProvider) -> None:
    agent.secrets["agent_api_key"] = "sk-or-poor"
    provider.add_key("sk-or-poor")
    provider.no_credit("sk-or-poor")
    ends(start(agent), 31, "provider_credit")


def test_32_a_model_that_the_provider_does_not_offer(agent: Agent, provider: FakeProvider) -> None:
    provider.remove_model("no-such")
    agent.env["AGENT_MODEL"] = "no-such"
    ends(start(agent), 32, "provider_model")


def test_40_no_model_is_named(agent: Agent) -> None:
    agent.env["AGENT_MODEL"] = ""
    ends(start(agent), 40, "bad_configuration")


def test_75_telegram_stays_unreachable(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    start(agent).wait_for("running")
    agent.kill()
    telegram.break_down(token)
    agent.env["AGENT_UNREACHABLE_SECONDS"] = "1"
    ends(start(agent), 75, "telegram_unreachable")


@pytest.mark.parametrize(("word", "exit_code"), [("crash", 1), ("die", 137)])
def test_its_program_ends_by_itself(
    agent: Agent, telegram: FakeTelegram, token: str, word: str, exit_code: int
) -> None:
    start(agent).wait_for("running")
    telegram.say(token, 1, word)
    ends(agent, exit_code, "crash")


def test_telegram_is_down_at_the_start_and_again_later(
    agent: Agent, telegram: FakeTelegram, token: str, ask: Callable[..., str]
) -> None:
    telegram.break_down(token)
    start(agent).wait_for("starting", "telegram_unreachable")
    telegram.heal(token)
    agent.wait_for("running")
    telegram.break_down(token)
    telegram.say(token, STRANGER, "This ends the poll that is open.")
    agent.wait_for("degraded", "telegram_unreachable")
    telegram.say(token, 1, "Are you there?")
    telegram.heal(token)
    telegram.wait_for_message(token, containing="Are you there?", timeout=100)
    agent.wait_for("running", after=len(agent.statuses) - 1)
    assert ask("Once?") == "You said: Once?"
    assert len([sent for sent in telegram.sent(token) if "Are you there?" in sent.text]) == 1


def test_a_failing_provider_degrades_the_agent_until_it_recovers(
    agent: Agent, telegram: FakeTelegram, provider: FakeProvider, token: str, key: str, ask: Callable[..., str]
) -> None:
    start(agent).wait_for("running")
    provider.no_credit(key)
    assert ask("Hello?") == "No answer: 429"
    agent.wait_for("degraded", "provider_credit")
    provider.accept(key)
    agent.wait_for("running", after=3)
    provider.reject(key)
    assert ask("Hello?") == "No answer: 401"
    agent.wait_for("degraded", "provider_key")


def test_a_message_waits_as_long_as_telegram_asks(
    agent: Agent, telegram: FakeTelegram, token: str, ask: Callable[..., str]
) -> None:
    start(agent).wait_for("running")
    telegram.rate_limit(token, retry_after=1, method="sendMessage", times=1)
    assert ask("Hello?") == "You said: Hello?"
    first, second = telegram.calls(token, "sendMessage")
    assert second.at - first.at >= 1
