"""Unusual things that people do in chats, which must not cause errors."""

from typing import Any

from tests.agents.agent import Agent
from tests.agents.test_groups import GROUP, ME, Ask, mention, reply_to
from tests.fakes.provider import FakeProvider
from tests.fakes.provider_contents import files_in
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_files import upload


def test_photos_that_mention_it_replies_to_others_and_two_languages_in_one_group(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_ALLOWED_USERS="*").wait_for("running")
    me = {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": "Bot", "username": ME}
    bob = {"id": 12, "is_bot": False, "first_name": "Bob"}
    picture = [upload(telegram.add_bot(token), b"\xff\xd8\xff\xe0") | {"width": 90, "height": 60}]
    text = f"@{ME} what is this?"
    named: dict[str, Any] = {"caption": text, "caption_entities": mention(text)["entities"], "photo": picture}
    assert ask("", GROUP, user_id=11, **named).endswith("Ada: what is this?\n\n[photo]")
    assert len(files_in(provider.asked()[-1])) == 1
    telegram.say(token, GROUP, "", 11, photo=picture, caption="Look!")  # people talk to each other
    ask(text, GROUP, user_id=11, **mention(text), **reply_to(bob, text="A gull."))
    assert provider.asked()[-1].messages[-1]["content"] == "Ada: > Bob:\n> A gull.\n\nwhat is this?"
    assert ask("/HELP@Canary_Bot now", GROUP, user_id=11, language="de").startswith("Schreib mir")
    assert ask(f"/help@{ME}", GROUP, user_id=12, language="es").startswith("Escríbeme")
    sticker = {"file_id": "x", "file_unique_id": "x", "width": 1, "height": 1, "is_animated": False, "is_video": False}
    told = ask("", GROUP, user_id=12, language="es", sticker=sticker | {"type": "regular"}, **reply_to(me, text="Hm"))
    assert told.startswith("Puedo leer texto")
    assert len(telegram.sent(token, GROUP)) == 5


def test_a_reset_during_an_answer_forgets_this_answer_too(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    provider.hold("one")
    agent.start().wait_for("running")
    telegram.say(token, 1, "one")
    provider.wait_for_request(timeout=100)
    telegram.say(token, 1, "/reset")
    telegram.say(token, 1, "two")
    provider.release("one")
    telegram.wait_for_message(token, after=2, timeout=100)
    said = [sent.text.partition(":")[0] for sent in telegram.sent(token, 1)]
    assert said == ["You said", "Done", "You said"]
    assert "one" not in str(provider.asked("chat")[-1].messages)


def test_a_voice_message_of_twenty_minutes_is_asked_in_full(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    words = "harbour " * 2500
    provider.transcribe_as(words)
    voice = upload(telegram.add_bot(token), b"OggS" + bytes(4 << 20)) | {"duration": 1200, "mime_type": "audio/ogg"}
    agent.start().wait_for("running")
    assert ask("", voice=voice).startswith("You said: harbour harbour")
    assert provider.asked("chat")[-1].messages[-1]["content"].count("harbour") == 2500
