"""A question that is edited is answered anew, and what it replies to goes along."""

from collections.abc import Callable

from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

Ask = Callable[..., str]


def said_in(provider: FakeProvider) -> list[str]:
    return [message["content"] for message in provider.asked()[-1].messages if message["role"] != "system"]


def test_an_edited_question_is_answered_anew_in_the_place_of_the_old_one(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_ALLOWED_USERS="1").wait_for("running")
    assert ask("I am Bob.") == "You said: I am Bob."
    question = telegram.say(token, 1, "Who am I?")
    telegram.wait_for_message(token, after=1, timeout=100)
    telegram.edit(token, question, "Who am I?")  # a preview has come: the text is the same
    telegram.edit(token, question, "/reset")
    telegram.edit(token, question, "Who am I really?")
    stranger = telegram.say(token, 2, "Hello?")
    assert telegram.wait_for_message(token, after=2, timeout=100, chat_id=None, containing="really").text
    telegram.edit(token, stranger, "Hello there?")
    assert ask("And now?") == "You said: And now?"
    assert said_in(provider)[2:4] == ["Who am I really?", "You said: Who am I really?"]
    assert "Who am I?" not in said_in(provider)
    assert len(telegram.sent(token, 1)) == 4
    assert len(telegram.sent(token, 2)) == 1
    assert "reply_parameters" in telegram.sent(token, 1)[2].fields


def test_a_question_that_is_edited_while_it_is_answered_is_answered_once(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    provider.hold("one")
    agent.start().wait_for("running")
    first = telegram.say(token, 1, "one")
    waiting = telegram.say(token, 1, "two")
    provider.wait_for_request(timeout=100)
    telegram.edit(token, waiting, "three")
    telegram.edit(token, first, "four")
    telegram.wait_for_message(token, after=1, timeout=100)
    provider.release("one")
    assert ask("five") == "You said: five"
    assert [sent.text for sent in telegram.sent(token)] == [f"You said: {word}" for word in ("three", "four", "five")]


def test_a_quote_goes_along_with_the_name_of_whoever_said_it(
    agent: Agent, provider: FakeProvider, ask: Ask, token: str
) -> None:
    agent.start().wait_for("running")
    bob = {"id": 12, "is_bot": False, "first_name": "Bob"}
    chat = {"id": 1, "type": "private", "first_name": "Ada"}
    reply = {"message_id": 99, "from": bob, "chat": chat, "date": 1, "text": "It sails at nine."}
    quote = {"text": "at nine", "position": 9}
    ask("Why?", reply_to_message=reply)
    ask("When?", reply_to_message=reply, quote=quote)
    origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
    ask("From elsewhere?", external_reply={"origin": origin}, quote=quote)
    assert said_in(provider)[::2] == [
        "> Bob:\n> It sails at nine.\n\nWhy?",
        "> Bob:\n> at nine\n\nWhen?",
        "> at nine\n\nFrom elsewhere?",
    ]
