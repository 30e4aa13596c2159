"""In a group the agent answers only messages addressed to it."""

from collections.abc import Callable
from typing import Any

from tests.agents.agent import PATIENCE, Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

GROUP = -100_200
ME = "canary_bot"
Ask = Callable[..., str]


def mention(text: str) -> dict[str, Any]:
    place = text.lower().index(f"@{ME}")
    return {"entities": [{"type": "mention", "offset": place, "length": len(ME) + 1}]}


def reply_to(user: dict[str, Any], **extra: Any) -> dict[str, Any]:
    said = {"message_id": 1, "date": 1, "chat": {"id": GROUP, "type": "supergroup", "title": "G"}, "from": user}
    return {"reply_to_message": said | extra}


def test_it_answers_mentions_and_replies_and_has_a_memory_for_each_topic(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    me = {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": "Bot", "username": ME}
    bob = {"id": 12, "is_bot": False, "first_name": "Bob"}
    topic: dict[str, Any] = {"message_thread_id": 9, "is_topic_message": True}
    begun = reply_to(me, forum_topic_created={"name": "Ships", "icon_color": 7322096})
    telegram.say(token, GROUP, "Nobody asks the bot.", 11)
    telegram.say(token, GROUP, "A reply to Bob.", 11, **reply_to(bob, text="Hm"))
    telegram.say(token, GROUP, "The first message of a topic.", 11, **topic, **begun)
    telegram.say(token, GROUP, "/help@another_bot", 11)
    telegram.say(token, GROUP, "/unknown", 11)
    telegram.say(token, GROUP, "", 11, new_chat_title="Harbour")
    text = f"@{ME.upper()} where is the ship?"
    assert ask(text, GROUP, user_id=11, **mention(text)) == "You said: Ada: where is the ship?"
    answer = telegram.sent(token, GROUP)[0]
    assert "allow_sending_without_reply" in str(answer.fields["reply_parameters"])
    assert (
        ask("And now?", GROUP, user_id=12, **reply_to(me, text="It sails.")) == "You said: Ada: > It sails.\n\nAnd now?"
    )
    text = f"Well, @{ME}?"
    assert ask(text, GROUP, user_id=11, **mention(text), **topic) == f"You said: Ada: {text}"
    assert "where is the ship" not in str(provider.asked("chat")[-1].messages)
    assert telegram.sent(token, GROUP)[-1].fields["message_thread_id"] in (9, "9")
    assert len(telegram.sent(token, GROUP)) == 3


def test_commands_speak_the_language_of_the_client_and_cost_nothing(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_MODEL="any/model").wait_for("running")
    assert ask("/help@canary_bot", GROUP, user_id=11).startswith("Write to me")
    assert "any/model" in ask("/model", language="xx")
    assert "1" in ask("/whoami", language="de-AT")
    for language, words in (("de", "Hallo"), ("es-MX", "Hola"), ("zh-hans", "你好"), ("ar", "مرحبًا"), ("tlh", "Hello")):
        assert words in ask("/start", language=language)
    assert "0 answers" in ask("/usage")
    assert provider.asked("chat") == []
    ask("Hello?")
    assert "1 answers, 1 tokens in, 1 out" in ask("/usage")


def test_the_clients_of_each_language_offer_the_commands(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    def published() -> set[str | None]:
        return {call.fields.get("language_code") for call in telegram.calls(token, "setMyCommands")}

    agent.start().wait_for("running")
    wait_until(lambda: published() == {None, "de", "es", "zh", "ar"}, within=PATIENCE)


def test_stop_ends_the_answer_and_the_messages_queued_behind_it(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    assert ask("/stop") == "I am not answering anything right now."
    provider.hold("one")
    telegram.say(token, 1, "one")
    telegram.say(token, 1, "two")
    telegram.say(token, 2, "elsewhere")
    telegram.wait_for_message(token, chat_id=2, containing="elsewhere", timeout=100)
    assert ask("/stop") == "Stopped."
    provider.release("one")
    assert ask("three") == "You said: three"
    assert [sent.text for sent in telegram.sent(token, 1)][1:] == ["Stopped.", "You said: three"]
    assert "one" not in str(provider.asked("chat")[-1].messages)
