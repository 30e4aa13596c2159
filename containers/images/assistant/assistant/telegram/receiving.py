"""What is done with an update before anybody is answered."""

import logging

from telegram import Message, Update

from assistant.chatting.conversation import Conversation
from assistant.remembering.memory import Memory
from assistant.remembering.reminders import Reminders

logger = logging.getLogger(__name__)


class Receiving:
    def __init__(self, conversation: Conversation, memory: Memory, reminders: Reminders) -> None:
        self._conversation = conversation
        self._memory = memory
        self._reminders = reminders

    def take(self, update: Update) -> None:
        """Raises nothing: Telegram would send again what ends the agent, and so end it for ever."""
        message = update.message or update.edited_message
        try:
            if message is not None and (message.migrate_to_chat_id or message.migrate_from_chat_id):
                self._move(message)
            elif message is None or not _is_of_a_bot(message):
                self._conversation.take(update)
        except Exception:
            logger.exception("an update could not be looked at")

    async def close(self, patience: float) -> None:
        await self._conversation.close(patience)

    def _move(self, message: Message) -> None:
        """A group has become a supergroup, which Telegram says in both. What was said there goes with it."""
        old, new = message.migrate_from_chat_id or message.chat_id, message.migrate_to_chat_id or message.chat_id
        self._memory.move(old, new)
        self._reminders.move(old, new)


def _is_of_a_bot(message: Message) -> bool:
    """Two that answer each other would never end. Who speaks for a chat is called a bot by Telegram, and is none."""
    return message.from_user is not None and message.from_user.is_bot and message.sender_chat is None
