"""The status is always right: degraded and healed while the agent runs. The health check agrees with it."""

import json
import time
from collections.abc import Callable

import pytest

from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

VENDORS = ["sk-some-key", "sk-or-some-key", "sk-ant-some-key"]
Ask = Callable[..., str]


@pytest.mark.parametrize("key", VENDORS)
def test_every_refusal_has_a_plain_sentence_and_a_status_and_clears(
    agent: Agent, provider: FakeProvider, key: str, ask: Ask
) -> None:
    provider.add_key(key)
    agent.secrets["agent_api_key"] = key
    often = '{"messages_per_minute": 60}'
    agent.start(AGENT_WATCH_SECONDS="600", AGENT_MODEL="any/model", AGENT_SETTINGS=often).wait_for("running")
    assert ask("Hello?") == "You said: Hello?"
    troubles: list[tuple[Callable[[], None], str, str]] = [
        (lambda: provider.reject(key), "provider_key", "rejects my API key"),
        (lambda: provider.no_credit(key), "provider_credit", "no credit is left"),
        (lambda: provider.remove_model("any/model"), "provider_model", "does not offer my model"),
        (lambda: provider.rate_limit(1, "chat"), "provider_busy", "busy right now"),
        (lambda: provider.break_down(500, "chat"), "provider_down", "cannot reach"),
        (lambda: provider.break_down(502, "chat"), "provider_down", "cannot reach"),
        (lambda: provider.garbage("chat"), "provider_down", "cannot reach"),
    ]
    for trouble, code, words in troubles:
        before = len(agent.statuses)
        trouble()
        assert words in ask("And now?")
        agent.wait_for("degraded", code, after=before)
        provider.heal()
        assert ask("Better?") == "You said: Better?"
        agent.wait_for("running", after=before)
    assert "And now?" not in str(provider.asked()[-1].messages), "unanswered questions were remembered"


def test_a_provider_that_never_answers_is_reported_as_down(agent: Agent, provider: FakeProvider, ask: Ask) -> None:
    agent.start(AGENT_ANSWER_SECONDS="0.5", AGENT_WATCH_SECONDS="600").wait_for("running")
    provider.stall("chat")
    assert "cannot reach" in ask("Hello?")
    agent.wait_for("degraded", "provider_down")


def test_a_message_that_the_provider_refuses_does_not_degrade_the_agent(
    agent: Agent, provider: FakeProvider, ask: Ask
) -> None:
    provider.answer_with(400, {"error": {"message": "This model's maximum context length is 5 tokens."}}, "chat")
    agent.start().wait_for("running")
    assert "/reset" in ask("Hello?")
    assert agent.file["state"] == "running"


@pytest.mark.parametrize("key", VENDORS)
def test_a_rejected_key_and_its_recovery_are_noticed_without_a_message(
    agent: Agent, provider: FakeProvider, key: str
) -> None:
    provider.add_key(key)
    agent.secrets["agent_api_key"] = key
    agent.start(AGENT_WATCH_SECONDS="0.1").wait_for("running")
    provider.reject(key)
    agent.wait_for("degraded", "provider_key")
    provider.accept(key)
    agent.wait_for("running", after=3)


def test_new_credit_is_noticed_without_a_message(agent: Agent, provider: FakeProvider, key: str, ask: Ask) -> None:
    agent.start().wait_for("running")
    provider.no_credit(key)
    ask("Hello?")
    agent.wait_for("degraded", "provider_credit")
    provider.accept(key)
    agent.wait_for("running", after=3)


def test_a_provider_that_is_down_at_the_start_degrades_and_heals(agent: Agent, provider: FakeProvider) -> None:
    provider.break_down(502)
    agent.start().wait_for("degraded", "provider_down")
    assert all(status["state"] != "running" for status in agent.statuses)
    provider.heal()
    agent.wait_for("running")


def test_an_outage_of_telegram_degrades_and_heals(agent: Agent, telegram: FakeTelegram, token: str, ask: Ask) -> None:
    agent.start(AGENT_UNREACHABLE_SECONDS="16").wait_for("running")
    telegram.break_down(token)
    telegram.say(token, 1, "This ends the poll that waits.")
    agent.wait_for("degraded", "telegram_unreachable")
    assert agent.check_health()[0] == 1
    telegram.heal(token)
    agent.wait_for("running", after=2)
    assert ask("Back?").startswith("You said: ")


def test_running_is_not_reported_before_the_first_poll(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    telegram.stall(token, "getUpdates")
    agent.start()
    telegram.wait_for_poll(token, timeout=100)
    assert [status["state"] for status in agent.statuses] == ["starting"]
    assert agent.check_health()[0] == 1
    telegram.heal(token)
    agent.wait_for("running")


def test_the_health_check_prints_the_status_and_agrees_with_it(agent: Agent, provider: FakeProvider, key: str) -> None:
    assert agent.check_health() == (1, "no status yet\n")
    agent.start(AGENT_WATCH_SECONDS="0.1").wait_for("running")
    health, output = agent.check_health()
    assert (health, json.loads(output)["state"]) == (0, "running")
    provider.reject(key)
    agent.wait_for("degraded", "provider_key")
    health, output = agent.check_health()
    assert (health, json.loads(output)["code"]) == (1, "provider_key")
    agent.stop()
    assert agent.check_health()[0] == 1


@pytest.mark.parametrize(
    ("state", "age", "health"), [("running", 5, 0), ("running", 95, 1), ("running", None, 1), ("degraded", 5, 1)]
)
def test_the_health_check_requires_a_recent_poll(agent: Agent, state: str, age: int | None, health: int) -> None:
    last_poll = None if age is None else int(time.time()) - age
    lie = '"state":"running","last_poll":9999999999,'  # free text in the detail must not be read as the status
    status = {"v": 1, "state": state, "last_poll": last_poll, "since": 1, "code": None, "detail": lie}
    (agent.directory / "run").mkdir()
    (agent.directory / "run" / "status.json").write_text(json.dumps(status, separators=(",", ":")) + "\n")
    assert agent.check_health()[0] == health
