"""Receives updates: follows groups that become supergroups, ignores other bots, and passes messages on."""

import logging

from telegram import Message, Update

from assistant.chatting.conversation import Conversation
from assistant.storage.memory import Memory
from assistant.storage.reminders import Reminders

logger = logging.getLogger(__name__)


class UpdateReceiver:
    def __init__(self, conversation: Conversation, memory: Memory, reminders: Reminders) -> None:
        self._conversation = conversation
        self._memory = memory
        self._reminders = reminders

    def take(self, update: Update) -> None:
        """Raises nothing: Telegram would send an update that crashes the agent again after each restart."""
        message = update.message or update.edited_message
        try:
            if message is not None and (message.migrate_to_chat_id or message.migrate_from_chat_id):
                self._move(message)
            elif message is None or not _is_of_a_bot(message):
                self._conversation.take(update)
        except Exception:
            logger.exception("an update could not be handled")

    async def close(self, patience: float) -> None:
        await self._conversation.close(patience)

    def _move(self, message: Message) -> None:
        """Moves memory and reminders of a group that became a supergroup. Telegram announces it in both chats."""
        old, new = message.migrate_from_chat_id or message.chat_id, message.migrate_to_chat_id or message.chat_id
        self._memory.move(old, new)
        self._reminders.move(old, new)


def _is_of_a_bot(message: Message) -> bool:
    """Returns whether another bot wrote the message, because two bots could answer each other forever. Telegram also
    marks people as bots who write in the name of a chat; these do not count.
    """
    return message.from_user is not None and message.from_user.is_bot and message.sender_chat is None
