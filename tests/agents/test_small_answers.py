"""The agent's own short messages: none is lost, and none swallows a cancellation."""

import asyncio
import sqlite3
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from telegram import Chat, Message, Update, User

pytestmark = pytest.mark.one_database
OLGA, ME = User(7, "Olga", is_bot=False), User(1, "Agent", is_bot=True, username="canary_bot")
SECONDS = 5.0


class SlowBot:
    """A bot whose messages take a moment."""

    bot = ME

    def __init__(self) -> None:
        self.said: list[str] = []

    async def send_message(self, chat: int, text: str, **extra: object) -> Any:
        await asyncio.sleep(0.05)
        self.said.append(text)
        return SimpleNamespace(message_id=len(self.said))


def update_of(text: str) -> Update:
    return Update(1, Message(1, datetime.now(UTC), Chat(7, "private"), from_user=OLGA, text=text))


class BrokenMemory:
    def forget(self, place: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")


def talk(bot: Any) -> Any:
    """Returns a conversation that admits everybody."""
    from assistant.chatting.commands import Commands
    from assistant.chatting.conversation import Conversation
    from assistant.chatting.limits import read_limits

    access: Any = SimpleNamespace(read_code=lambda text: None, admits=lambda user: True)
    config, memory, nothing = SimpleNamespace(model="m"), BrokenMemory(), SimpleNamespace(hurry=lambda: None)
    parts: list[Any] = [config, memory, nothing, nothing]
    unanswered: Any = SimpleNamespace(keep=list)
    return Conversation(bot, access, Commands(bot, *parts), parts[-1], read_limits({}), unanswered)


@pytest.mark.parametrize(("text", "answer"), [("/whoami", "7"), ("/stop", "not answering"), ("/reset", "went wrong")])
def test_messages_received_before_the_end_are_still_answered(text: str, answer: str) -> None:
    bot = SlowBot()

    async def end() -> None:
        conversation = talk(bot)
        conversation.take(update_of(text))
        await conversation.close(60.0)

    asyncio.run(end())
    [said] = bot.said
    assert answer in said


def test_a_cancellation_while_typing_ends_is_not_swallowed() -> None:
    from assistant.storage.memory import Place
    from assistant.telegram.sending import typing

    async def cancel_late() -> bool:
        is_ending = asyncio.Event()

        async def send_chat_action(*facts: object, **extra: object) -> None:
            try:
                await asyncio.sleep(SECONDS)
            finally:
                is_ending.set()
                await asyncio.sleep(0.05)

        async def show() -> None:
            bot: Any = SimpleNamespace(send_chat_action=send_chat_action)
            async with typing(bot, Place(1)):
                await asyncio.sleep(0)

        task = asyncio.create_task(show())
        await is_ending.wait()
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert asyncio.run(cancel_late())
