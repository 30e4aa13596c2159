"""An edited question is answered again, and the message it replies to is sent with it."""

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from telegram import Chat, Message, PhotoSize, User

from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.provider_contents import files_in
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_files import upload

Ask = Callable[..., str]


def said_in(provider: FakeProvider) -> list[str]:
    return [message["content"] for message in provider.asked()[-1].messages if message["role"] != "system"]


def test_a_new_answer_to_an_edited_question_replaces_the_old_one(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_ALLOWED_USERS="1").wait_for("running")
    assert ask("I am Bob.") == "You said: I am Bob."
    question = telegram.say(token, 1, "Who am I?")
    telegram.wait_for_message(token, after=1, timeout=100)
    telegram.edit(token, question, "Who am I?")  # only a link preview was added, the text is the same
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


def test_the_edited_caption_of_an_album_is_answered_from_all_of_its_pictures(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str
) -> None:
    photo: dict[str, Any] = {
        "photo": [upload(telegram.add_bot(token), b"\xff\xd8\xff\xe0") | {"width": 90, "height": 60}]
    }
    agent.start().wait_for("running")
    captions: list[dict[str, Any]] = [{}, {"caption": "Compare them all"}, {}]
    album = [telegram.say(token, 1, "", media_group_id="7", **photo, **caption) for caption in captions]
    telegram.wait_for_message(token, containing="Compare them all\n\n[photo] [photo] [photo]", timeout=100)
    telegram.edit(token, album[1], "Compare them all")  # nothing is new
    telegram.edit(token, album[1], "Compare")
    telegram.wait_for_message(token, containing="Compare\n\n[photo] [photo] [photo]", timeout=100)
    assert len(files_in(provider.asked()[-1])) == 3
    assert len(provider.asked()) == 2
    assert "Compare them all" not in str(provider.asked()[-1].messages)


def test_a_caption_is_compared_with_the_caption_that_is_remembered() -> None:
    from datetime import UTC, datetime

    from assistant.telegram.incoming import Incoming

    def edited(caption: str | None) -> Incoming:
        ada = User(1, "Ada", is_bot=False)
        photo = [PhotoSize("x", "x", 90, 60)]
        message = Message(1, datetime.now(UTC), Chat(1, "private"), ada, caption=caption, photo=photo)
        return Incoming(message, ada, ada)

    remembered = "What is this?\n\n[photo]"
    assert edited("What is this?").matches_remembered(remembered)
    assert not edited("What is").matches_remembered(remembered)
    assert not edited("What is this? And that?").matches_remembered(remembered)
    assert edited(None).matches_remembered("[photo]")


def test_what_was_said_with_files_is_kept_for_an_hour_and_is_not_much() -> None:
    from assistant.chatting.recent_messages import KEPT_SECONDS, MOST_KEPT, RecentMessages

    now = [0.0]
    recent = RecentMessages(lambda: now[0])
    said: list[Any] = [SimpleNamespace(chat_id=1, message_id=number, caption=None) for number in range(MOST_KEPT + 2)]
    albums: list[Any] = [SimpleNamespace(attachments=[1], message=a, others=(b,)) for a, b in pairwise(said)]
    for album in albums[::2]:
        recent.keep(album, None)
    assert (recent.find(said[0]), recent.find(said[1])) == (None, None)
    found = recent.find(said[-1])
    assert found is not None
    assert found.incoming is albums[-1]
    assert recent.edit(said[-2]) == (said[-2], (said[-1],))
    assert len(recent._kept) == MOST_KEPT
    now[0] = KEPT_SECONDS
    assert recent.find(said[-1]) is None
    recent.keep(albums[0], None)
    assert len(recent._kept) == 2


def test_a_quote_is_sent_with_the_name_of_its_author(
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
