"""An agent that answers only paired people, from its first message on."""

import time
from collections.abc import Callable

from containers.agent_contract import PairingCode, PairingKind
from tests.agents.agent import PATIENCE, Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

SECRET = "CANARYpairingCANARYpairingCANARYpairing"
OWNER, STRANGER, GROUP = 7, 66, -100_200


def link(kind: PairingKind, number: int = 0) -> str:
    return "/start " + PairingCode(kind, number, int(time.time()) + 3600).sign(SECRET)


def test_the_first_tap_pairs_its_owner_and_strangers_cost_nothing(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Callable[..., str]
) -> None:
    agent.secrets["pairing_secret"] = SECRET
    agent.start().wait_for("running")
    assert agent.statuses[-1]["paired"] == agent.file["paired"] == 0
    assert agent.check_health()[0] == 0
    assert ask("Hello?", chat_id=STRANGER).startswith("Sorry, I talk only to people who have paired with me")
    taps = link(PairingKind.OWNER)
    telegram.say(token, OWNER, taps)
    telegram.say(token, STRANGER, taps)  # immediately after the owner
    telegram.wait_for_message(token, chat_id=OWNER, containing="You are my owner now", timeout=100)
    telegram.wait_for_message(token, chat_id=STRANGER, containing="is no longer valid", timeout=100)
    for text in ("Hello again?", "/reset", "/start", "/stop", "/start o0-1-AAAAAAAAAAAAAAAAAAAAAA", "/whoami"):
        telegram.say(token, STRANGER, text)
    assert ask("Where is the ship?", chat_id=OWNER) == "You said: Where is the ship?"
    assert len(telegram.sent(token, STRANGER)) == 2
    assert len(provider.asked("chat")) == 1
    wait_until(lambda: agent.statuses[-1]["paired"] == 1, within=PATIENCE)
    agent.stop()
    agent.start().wait_for("running")
    assert ask("And now?", chat_id=OWNER) == "You said: And now?"
    assert "CANARY" not in agent.output.replace("canary_bot", "")


def test_a_code_in_a_group_is_void_and_the_group_is_warned(
    agent: Agent, telegram: FakeTelegram, token: str, ask: Callable[..., str]
) -> None:
    agent.secrets["pairing_secret"] = SECRET
    agent.start().wait_for("running")
    shown = link(PairingKind.OWNER)
    assert "made it invalid" in ask(shown.replace("/start", "/start@canary_bot"), chat_id=GROUP, user_id=OWNER)
    assert "is no longer valid" in ask(shown, chat_id=STRANGER)
    assert "You are my owner now" in ask(link(PairingKind.ADD, 1), chat_id=OWNER)
