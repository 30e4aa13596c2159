"""What a person in a chat sees."""

import re
from collections.abc import Callable

from tests.agents.agent import PATIENCE, Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

Ask = Callable[..., str]


def test_a_question_is_answered_by_the_model_as_the_owner_instructed(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, key: str
) -> None:
    question = "Where is the ship?"
    agent.start(AGENT_INSTRUCTIONS="Talk like a sailor.", AGENT_MODEL="gpt-5-mini").wait_for("running")
    provider.hold(question)
    telegram.say(token, 1, question)
    wait_until(lambda: telegram.calls(token, "sendChatAction"), within=PATIENCE, what=lambda: agent.output)
    provider.release(question)
    assert telegram.wait_for_message(token, chat_id=1, timeout=PATIENCE).text == f"You said: {question}"
    asked = provider.asked()[-1]
    assert (asked.model, asked.key) == ("gpt-5-mini", key)
    assert (asked.system or "").startswith("Talk like a sailor.")
    assert telegram.calls(token, "sendChatAction")[0].fields["action"] == "typing"
    assert telegram.calls(token, "setMyCommands")
    answered = re.compile(r'^\{"event": "answered", "seconds": [0-9.]+, "tokens": [1-9][0-9]*\}$', re.MULTILINE)
    wait_until(lambda: answered.search(agent.output), within=PATIENCE, what=lambda: agent.output)
    assert "ship" not in agent.output


def test_only_earlier_messages_of_the_same_chat_are_sent_to_the_model(
    agent: Agent, provider: FakeProvider, ask: Ask
) -> None:
    agent.start().wait_for("running")
    ask("I am Ada.", chat_id=1)
    ask("I am Bob.", chat_id=2)
    ask("Who am I?", chat_id=1)
    said = [message["content"] for message in provider.asked()[-1].messages if message["role"] != "system"]
    assert said == ["I am Ada.", "You said: I am Ada.", "Who am I?"]


def test_memory_survives_a_restart_until_reset(agent: Agent, provider: FakeProvider, ask: Ask) -> None:
    agent.start().wait_for("running")
    ask("I am Ada.")
    agent.stop()
    agent.start().wait_for("running")
    ask("Who am I?")
    assert "I am Ada." in str(provider.asked()[-1].messages)
    assert "forgotten" in ask("/reset")
    ask("And now?")
    assert "I am Ada." not in str(provider.asked()[-1].messages)


def test_commands_are_obeyed_without_asking_the_model(agent: Agent, provider: FakeProvider, ask: Ask) -> None:
    agent.start().wait_for("running")
    assert ask("/start").startswith("Hello!")
    assert "/reset" in ask("/help@canary_bot")
    assert "do not know" in ask("/dance")
    assert provider.asked() == []


def test_a_long_answer_comes_in_parts_that_telegram_takes(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str
) -> None:
    provider.reply_with("Ships 🚢 sail. " * 700)
    agent.start().wait_for("running")
    telegram.say(token, 1, "Tell me everything.")
    parts = [telegram.wait_for_message(token, after=number, timeout=100).text for number in range(3)]
    assert " ".join(parts) == ("Ships 🚢 sail. " * 700).strip()


def test_a_photo_a_group_notice_and_an_empty_answer_are_harmless(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    photo = [{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1}]
    assert "send it again" in ask("", photo=photo)
    dice = {"emoji": "x", "value": 1}
    assert ask("", dice=dice).startswith("I can read text, photos")
    provider.reply_with("  ")
    assert "empty answer" in ask("Hm?")
    provider.reply_with("half a pair \ud83d, a NUL \0.")
    telegram.say(token, 1, "", new_chat_title="Harbour")
    assert ask("Hm?") == "half a pair \ufffd, a NUL ."


def test_only_listed_people_are_answered_and_others_get_one_polite_sentence(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_ALLOWED_USERS="42, @Ada").wait_for("running")
    assert ask("Hi", chat_id=42) == "You said: Hi"
    assert ask("Hi", chat_id=43, username="aDA") == "You said: Hi"
    assert ask("Hi", chat_id=44, username="mallory").startswith("Sorry, ")
    telegram.say(token, 44, "Hi again", username="mallory")
    assert ask("Still there?", chat_id=42) == "You said: Still there?"
    assert len(telegram.sent(token, 44)) == 1
    assert all("again" not in str(asked.messages) for asked in provider.asked())


def test_it_waits_as_long_as_telegram_asks_and_survives_being_blocked(
    agent: Agent, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    telegram.rate_limit(token, 1, "sendMessage", times=1)
    assert ask("Hello?") == "You said: Hello?"
    telegram.block(token, 5)
    telegram.say(token, 5, "I have blocked you.")
    assert ask("Still there?") == "You said: Still there?"


def test_messages_of_one_chat_are_answered_in_order_and_chats_do_not_wait_for_each_other(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str
) -> None:
    agent.start().wait_for("running")
    provider.hold("one")
    for chat, text in ((1, "one"), (1, "two"), (2, "other"), (1, "three")):
        telegram.say(token, chat, text)
    telegram.wait_for_message(token, containing="other", timeout=100)
    provider.release("one")
    telegram.wait_for_message(token, containing="three", timeout=100)
    order = [sent.text.removeprefix("You said: ") for sent in telegram.sent(token)]
    assert order == ["other", "one", "two", "three"]


def test_a_message_left_unanswered_at_the_end_is_answered_after_the_next_start(
    agent: Agent, telegram: FakeTelegram, token: str
) -> None:
    """The case that the engine ends, and with it the gateway in front of Telegram."""
    agent.start()
    telegram.break_down(token, method="sendMessage")
    for number in range(2):
        telegram.say(token, 1, f"question {number}")
    wait_until(lambda: telegram.calls(token, "sendMessage") and not telegram.pending(token))
    assert agent.stop() == 0, agent.output
    assert not telegram.sent(token)
    telegram.heal(token)
    agent.start()
    for number in range(2):
        telegram.wait_for_message(token, containing=f"question {number}", timeout=100)
    assert len(telegram.sent(token)) == 2
