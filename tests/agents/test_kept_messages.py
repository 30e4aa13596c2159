"""Unanswered messages are stored, and one that cannot be stored or read affects no other."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from telegram import Chat, Message, Update, User

pytestmark = pytest.mark.one_database
OLGA = User(7, "Olga", is_bot=False)


def say(number: int, album: str | None = None) -> Update:
    chat = Chat(number, "private")
    return Update(number, Message(number, datetime.now(UTC), chat, OLGA, text=f"No. {number}", media_group_id=album))


class Odd:
    def to_dict(self) -> Any:
        raise RecursionError


def test_a_message_that_cannot_be_stored_or_read_affects_no_other(tmp_path: Path) -> None:
    from assistant.storage.store import open_store
    from assistant.storage.unanswered import Unanswered

    kept = Unanswered(db := open_store(tmp_path))
    odd, nobody = Odd(), SimpleNamespace()
    messages: list[Any] = [say(1).message, odd, say(2).message]
    kept.keep(messages)
    for unreadable in ("[", "[]", '{"message_id": 1}'):
        db.execute("INSERT INTO unanswered VALUES ((SELECT -COUNT(*) FROM unanswered), ?)", (unreadable,))
    taken: list[Update] = []
    bot: Any = nobody
    kept.resume(bot, taken.append)
    assert [each.message and each.message.text for each in taken] == ["No. 1", "No. 2"]
    kept.resume(bot, taken.append)
    assert len(taken) == 2


def converse(monkeypatch: pytest.MonkeyPatch, kept: list[Message]) -> Any:
    """Returns a conversation in which no answer is finished in time, and each album raises an error."""
    from assistant.chatting.conversation import Conversation
    from assistant.chatting.limits import read_limits
    from assistant.chatting.recent_messages import RecentMessages

    async def wait(*_: object) -> None:
        await asyncio.Event().wait()

    def keep(messages: Iterable[Message]) -> None:
        kept.extend(messages)

    def fail_for_albums(_: object, incoming: Any, __: object) -> None:
        if incoming.message.media_group_id:
            raise KeyError

    monkeypatch.setattr(RecentMessages, "keep", fail_for_albums)
    access: Any = SimpleNamespace(admits=lambda _: True)
    answering: Any = SimpleNamespace(answer=wait, break_off=wait, hurry=lambda: None)
    bot: Any = SimpleNamespace(bot=User(1, "Agent", is_bot=True, username="canary_bot"))
    nothing: Any = None
    unanswered: Any = SimpleNamespace(keep=keep)
    return Conversation(bot, access, nothing, answering, read_limits({}), unanswered)


def test_an_unreadable_album_blocks_no_message_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from assistant.chatting import conversation
    from assistant.telegram import albums

    monkeypatch.setattr(conversation, "FAREWELL_SECONDS", 0.01)
    monkeypatch.setattr(albums, "MOST_ALBUMS", 1)
    kept: list[Message] = []

    async def run() -> None:
        talk = converse(monkeypatch, kept)
        for update in (say(1), say(2, "odd"), say(3, "another one"), say(4)):
            talk.take(update)
        await talk.close(0.0)

    asyncio.run(run())
    assert [message.text for message in kept] == ["No. 1", "No. 4"]
