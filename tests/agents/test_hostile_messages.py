"""Hostile messages to an agent: it survives, reveals no credential, and uses no more memory than before.

Some of them always run. HOSTILE_MESSAGES=1000 pytest tests/agents/test_hostile_messages.py runs all in a minute or two.
On a machine with a load of 16 it took five minutes on 2026-11-23, and everything passed.
"""

import json
import os
from pathlib import Path

from tests.agents import hostile_messages
from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

NUMBER = int(os.environ.get("HOSTILE_MESSAGES") or 40)
CHATS = 5
WITHIN = 30 + NUMBER


def memory_of(agent: Agent) -> int:
    """Returns the resident memory in KiB."""
    status = Path(f"/proc/{agent.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_hostile_messages_do_no_harm(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, key: str
) -> None:
    agent.start(AGENT_SETTINGS=json.dumps({"messages_per_minute": 600})).wait_for("running")
    bot, before = telegram.add_bot(token), 0
    for place, message in enumerate(hostile_messages.messages(bot, NUMBER, seed=12)):
        telegram.say(token, 1 + place % CHATS, message.pop("text"), **message)
        if place % 20 == 19:  # waits for the agent, so that few messages exceed its rate limit
            ask_in_all(telegram, token, f"Are you there, {place}?")
            before = before or memory_of(agent)
    ask_in_all(telegram, token, "Are you there at the end?")
    assert {status["state"] for status in agent.statuses} == {"starting", "running"}
    assert memory_of(agent) - before < 30_000
    shown = "".join(sent.text for sent in telegram.sent(token)) + agent.output
    assert key not in shown
    assert token.partition(":")[2] not in shown
    assert "Traceback" not in agent.output
    wait_until(lambda: not list((agent.directory / "data" / "files").iterdir()), within=WITHIN)
    assert agent.stop() == 0


def ask_in_all(telegram: FakeTelegram, token: str, text: str) -> None:
    for chat in range(1, CHATS + 1):
        telegram.say(token, chat, text)
    for chat in range(1, CHATS + 1):
        wait_until(lambda: any(text in sent.text for sent in telegram.sent(token, chat)), within=WITHIN)  # noqa: B023 - it is called before the next turn
