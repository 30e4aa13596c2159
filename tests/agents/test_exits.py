"""The exit codes of the agent contract. A rejected credential ends the agent; none of these exits is a crash."""

from pathlib import Path

import pytest

from tests.agents.agent import Agent
from tests.fakes.messages import GARBAGE
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram


def ends(agent: Agent, exit_code: int, code: str) -> None:
    assert agent.wait_for_exit() == exit_code, agent.output
    assert (agent.statuses[-1]["state"], agent.statuses[-1]["code"]) == ("failed", code)
    assert (agent.file["state"], agent.file["code"]) == ("failed", code)
    assert "Traceback" not in agent.output


@pytest.mark.parametrize("wrong", ["987654:unknown-to-telegram-but-well-formed", "not a token", "123", "1:ä\n"])
def test_20_a_token_that_telegram_rejects(agent: Agent, wrong: str) -> None:
    agent.secrets["telegram_bot_token"] = wrong
    ends(agent.start(anew=True), 20, "telegram_token")


def test_20_a_token_revoked_while_running(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    agent.start().wait_for("running")
    telegram.revoke(token)
    ends(agent, 20, "telegram_token")


def test_21_a_bot_that_another_program_keeps_polling(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    telegram.conflict(token)
    agent.start().wait_for("starting", "telegram_conflict")
    ends(agent, 21, "telegram_conflict")


def test_a_short_conflict_is_survived(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    telegram.conflict(token, times=2)
    agent.start(AGENT_CONFLICT_SECONDS="3").wait_for("starting", "telegram_conflict")
    telegram.say(token, 1, "Hello?")
    telegram.wait_for_message(token, containing="Hello?", timeout=100)
    telegram.say(token, 1, "Again?")
    agent.wait_for("running")


def test_a_forgotten_webhook_is_removed(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    telegram._set(token, webhook="https://example.org/hook")
    agent.start().wait_for("running")
    assert telegram.calls(token, "deleteWebhook")


@pytest.mark.parametrize("key", ["sk-unknown", "sk-ant-unknown", "sk-or-unknown", "sk with spaces", "sk-ключ"])
def test_30_a_key_that_the_provider_rejects(agent: Agent, key: str) -> None:
    agent.secrets["agent_api_key"] = key
    ends(agent.start(), 30, "provider_key")


def test_31_no_credit_left_on_the_key(agent: Agent, provider: FakeProvider) -> None:
    agent.secrets["agent_api_key"] = "sk-or-poor"
    provider.add_key("sk-or-poor")
    provider.no_credit("sk-or-poor")
    ends(agent.start(), 31, "provider_credit")


@pytest.mark.parametrize("key", ["sk-some-key", "sk-ant-some-key", "sk-or-some-key"])
def test_32_a_model_that_the_provider_does_not_offer(agent: Agent, provider: FakeProvider, key: str) -> None:
    agent.secrets["agent_api_key"] = key
    provider.add_key(key)
    provider.remove_model("no/such-model")
    ends(agent.start(AGENT_MODEL="no/such-model"), 32, "provider_model")


@pytest.mark.parametrize("name", ["telegram_bot_token", "agent_api_key"])
def test_40_a_secret_is_missing(agent: Agent, name: str) -> None:
    agent.secrets[name] = " \n"
    ends(agent.start(), 40, "missing_secret")
    assert name in agent.file["detail"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TELEGRAM_API_BASE", "telegram"),
        ("AGENT_API_BASE", "ftp://provider/v1"),
        ("AGENT_PROVIDER", "deepthought"),
        ("AGENT_WATCH_SECONDS", "often"),
    ],
)
def test_40_a_setting_makes_no_sense(agent: Agent, name: str, value: str) -> None:
    agent.env[name] = value
    ends(agent.start(), 40, "bad_configuration")
    assert name in agent.file["detail"]


def test_40_memory_cannot_be_opened(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "data" / "history.db").mkdir(parents=True)
    ends(agent.start(), 40, "memory_unreadable")


ODD_ANSWERS = {
    "no JSON": GARBAGE.body,
    "a list": b"[1, 2]",
    "nothing": b"{}",
    "another result": b'{"ok": true, "result": "yes"}',
}


@pytest.mark.parametrize("outage", ["closed", "html", *ODD_ANSWERS])
def test_75_telegram_stays_unreachable(agent: Agent, telegram: FakeTelegram, token: str, outage: str) -> None:
    if outage == "closed":
        agent.env["TELEGRAM_API_BASE"] = "http://127.0.0.1:9"
    elif outage == "html":
        telegram.break_down(token)
    else:
        telegram.garbage(token, body=ODD_ANSWERS[outage])
    ends(agent.start(AGENT_UNREACHABLE_SECONDS="1"), 75, "telegram_unreachable")


@pytest.mark.parametrize("odd", ODD_ANSWERS)
def test_an_occasional_odd_answer_is_survived(agent: Agent, telegram: FakeTelegram, token: str, odd: str) -> None:
    agent.start().wait_for("running")
    telegram.garbage(token, "getUpdates", times=2, body=ODD_ANSWERS[odd])
    telegram.say(token, 1, "Hello?")
    telegram.wait_for_message(token, timeout=100)


def test_0_on_sigterm_with_everything_taken_confirmed(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    agent.start().wait_for("running")
    telegram.say(token, 1, "Hello?")
    telegram.wait_for_message(token, timeout=100)
    assert agent.stop() == 0, agent.output
    assert agent.statuses[-1]["state"] == agent.file["state"] == "stopped"
    assert telegram.pending(token) == 0


@pytest.mark.parametrize("stalled", ["getMe", "getUpdates", "sendMessage"])
def test_0_on_sigterm_also_while_telegram_hangs(agent: Agent, telegram: FakeTelegram, token: str, stalled: str) -> None:
    telegram.stall(token, stalled)
    telegram.say(token, 1, "Hello?")
    agent.start()
    telegram._wait(lambda: telegram.calls(token, stalled) or None, 20, f"no {stalled}")
    assert agent.stop() == 0, agent.output


def test_0_on_sigterm_and_an_apology_while_the_model_still_thinks(
    agent: Agent, telegram: FakeTelegram, provider: FakeProvider, token: str
) -> None:
    provider.stall("chat")
    agent.start().wait_for("running")
    telegram.say(token, 1, "Hello?")
    provider.wait_for_request(timeout=100)
    assert agent.stop() == 0, agent.output
    assert "could not finish" in telegram.sent(token)[-1].text


def test_0_on_sigterm_before_it_has_begun(agent: Agent) -> None:
    agent.start(anew=True).wait_for("starting")
    assert agent.stop() == 0, agent.output
    assert agent.statuses[-1]["state"] == "stopped"
