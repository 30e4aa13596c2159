"""The same questions to every agent type, in real containers: pytest tests/agents/long/table.py --agents=all

The rows in `trouble.py` and `behind_gateway.py` run with it. Without the option, only the assistant is tested. Missing
images are built, which takes minutes.
"""

from collections.abc import Callable

import pytest

from tests.agents.confined import USER, YOU, Confined
from tests.agents.long.behind_gateway import *  # noqa: F403 - rows and their fixtures
from tests.agents.long.trouble import *  # noqa: F403 - rows
from tests.containers.inside import run_inside
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


def ends(agent: Confined, exit_code: int, code: str) -> None:
    assert agent.wait_for_exit() == exit_code, agent.output
    assert (agent.reports[-1]["state"], agent.reports[-1]["code"]) == ("failed", code)
    assert "CANARY" not in agent.output


def test_it_answers_stops_and_remembers(
    agent: Confined, provider: FakeProvider, telegram: FakeTelegram, bot: str, ask: Callable[[str], str]
) -> None:
    agent.start().wait_for("running")
    ask("My cat is called Lettuce")
    for command in ("id -u", "grep CapEff /proc/self/status", "touch /opt/x /etc/x 2>&1; true"):
        seen = run_inside(agent.client, agent.name, "sh", "-c", command)[1]
        assert any(sign in seen for sign in (str(USER), "0000000000000000", "Read-only file system")), seen
    agent.client.stop(agent.name, timeout=10)  # after that, SIGKILL makes the exit code 137
    assert agent.facts["State"]["ExitCode"] == 0, agent.output
    before = len(agent.reports)
    agent.client.start(agent.name)
    agent.wait_for("running", after=before)
    ask("What is she called")
    assert any("Lettuce" in str(asked.body) for asked in provider.asked() if "What is she called" in str(asked.body))
    assert sum("You said: My cat" in sent.text for sent in telegram.sent(bot) if sent.method == "sendmessage") == 1
    assert "CANARY" not in agent.output


def test_20_a_token_that_telegram_rejects(agent: Confined) -> None:
    agent.secrets["telegram_bot_token"] = "987654:unknown-to-telegram-but-well-formed"
    ends(agent.start(), 20, "telegram_token")


def test_20_a_token_revoked_while_running(agent: Confined, telegram: FakeTelegram, bot: str) -> None:
    agent.start().wait_for("running")
    telegram.revoke(bot)
    ends(agent, 20, "telegram_token")


def test_21_a_bot_that_another_program_keeps_polling(agent: Confined, telegram: FakeTelegram, bot: str) -> None:
    telegram.conflict(bot)
    ends(agent.start(), 21, "telegram_conflict")


def test_30_a_key_that_the_provider_rejects(agent: Confined) -> None:
    agent.secrets["agent_api_key"] = "sk-unknown"
    ends(agent.start(), 30, "provider_key")


def test_31_no_credit_left_on_the_key(agent: Confined, provider: FakeProvider) -> None:
    agent.secrets["agent_api_key"] = "sk-or-poor"
    provider.add_key("sk-or-poor")
    provider.no_credit("sk-or-poor")
    ends(agent.start(), 31, "provider_credit")


def test_32_a_model_that_the_provider_does_not_offer(agent: Confined, provider: FakeProvider) -> None:
    agent.environment["AGENT_MODEL"] = "no/such-model"
    provider.remove_model("no/such-model")
    ends(agent.start(), 32, "provider_model")


def test_telegram_is_down_at_the_start_and_again_later(
    agent: Confined, telegram: FakeTelegram, bot: str, ask: Callable[[str], str]
) -> None:
    telegram.break_down(bot)
    agent.start().wait_for("starting", "telegram_unreachable")
    telegram.heal(bot)
    agent.wait_for("running")
    ask("First")
    telegram.break_down(bot)
    agent.wait_for("degraded", "telegram_unreachable")
    telegram.say(bot, YOU, "Written meanwhile")
    telegram.heal(bot)
    telegram.wait_for_message(bot, containing="You said: Written meanwhile", timeout=100)
    ask("Last")
    answers = [sent for sent in telegram.sent(bot) if "Written meanwhile" in sent.text and sent.method == "sendmessage"]
    assert len(answers) == 1


def test_a_key_revoked_while_running(
    agent: Confined, telegram: FakeTelegram, provider: FakeProvider, bot: str, key: str
) -> None:
    agent.start().wait_for("running")
    provider.reject(key)
    telegram.say(bot, YOU, "Hello?")
    agent.wait_for("degraded", "provider_key")
    before = len(agent.reports)
    provider.accept(key)
    agent.wait_for("running", after=before)
