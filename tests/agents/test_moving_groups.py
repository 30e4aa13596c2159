"""A group that becomes a supergroup gets another id. The agent follows it."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from telegram import Chat, Message, Update, User
from telegram.error import ChatMigrated

pytestmark = pytest.mark.one_database
OLD, NEW = -5, -1005
ADA = User(7, "Ada", is_bot=False)


def notice(chat: int, **facts: Any) -> Update:
    return Update(1, Message(1, datetime.now(UTC), Chat(chat, "group"), ADA, **facts))


@pytest.mark.parametrize("told", [notice(OLD, migrate_to_chat_id=NEW), notice(NEW, migrate_from_chat_id=OLD)])
def test_memory_and_reminders_move_with_a_migrated_group(tmp_path: Path, told: Update) -> None:
    from assistant.storage.memory import Memory, Place
    from assistant.storage.reminders import Reminders
    from assistant.storage.store import open_store
    from assistant.telegram.receiving import UpdateReceiver

    memory, reminders = Memory(db := open_store(tmp_path)), Reminders(db)
    memory.remember(Place(OLD), "Where is the ship?", "At sea.", asked_by=9)
    memory.remember(Place(6), "Elsewhere?", "Yes.", asked_by=9)
    db.execute("INSERT INTO summary VALUES (?, 0, 'It sailed.')", (OLD,))
    reminders.add(Place(OLD), 5, "Tide", None)
    nobody: Any = None
    for _ in range(2):  # Telegram announces it in both chats
        UpdateReceiver(nobody, memory, reminders).take(told)
    assert [each.content for each in memory.recall(Place(NEW))] == ["Where is the ship?", "At sea."]
    assert (memory.summary(Place(NEW)), memory.summary(Place(OLD))) == ("It sailed.", "")
    assert memory.find_question(Place(NEW), 9) is None, "the supergroup numbers its own messages"
    assert memory.find_question(Place(6), 9) == "Elsewhere?"
    assert [each.text for each in reminders.list_for(Place(NEW))] == ["Tide"]


@pytest.mark.parametrize("goes_round", [False, True])
def test_the_rest_of_an_answer_is_sent_to_the_migrated_group(monkeypatch: pytest.MonkeyPatch, goes_round: bool) -> None:
    from assistant.formatting.formatted import Formatted
    from assistant.storage.memory import Place
    from assistant.telegram import sending

    sent: list[tuple[int, str]] = []

    async def send(_: Any, place: Any, part: Any, reply_to: int | None) -> int:
        if sent and (place.chat == OLD or goes_round):
            raise ChatMigrated(NEW if place.chat == OLD else OLD)
        sent.append((place.chat, part.text))
        assert (reply_to is None) is (len(sent) > 1)
        return 1

    monkeypatch.setattr(sending, "send_once", send)
    bot: Any = None
    parts = [Formatted(text) for text in ("One", "Two", "Three")]
    assert asyncio.run(sending.send_parts(bot, Place(OLD), parts, reply_to=4)) is not goes_round
    assert sent == [(OLD, "One"), (NEW, "Two"), (NEW, "Three")][: 1 if goes_round else 3]


def test_other_bots_are_not_answered_but_anonymous_admins_are() -> None:
    from assistant.telegram.receiving import UpdateReceiver

    taken: list[Update] = []
    conversation: Any = SimpleNamespace(take=taken.append)
    nobody: Any = None
    robot = User(8, "Robot", is_bot=True)
    group = Chat(NEW, "supergroup")
    said = [Message(1, datetime.now(UTC), group, robot, text="Ahoy", sender_chat=chat) for chat in (None, group)]
    for message in said:
        UpdateReceiver(conversation, nobody, nobody).take(Update(1, message))
    assert [each.message for each in taken] == said[1:]
